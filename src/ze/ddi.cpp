// SPDX-License-Identifier: Apache-2.0
// Reads a driver's DDI tables (the tables of function pointers that drivers export for the loader).
#include <dlfcn.h>
#include <level_zero/ze_ddi.h>

#include "ze/provider.hpp"

namespace zemm::ze {
namespace {

template <typename Table>
bool read_table(void *lib, const char *getter, ze_api_version_t version, Table &table) {
    using get_table = ze_result_t (*)(ze_api_version_t, Table *);
    auto get = reinterpret_cast<get_table>(dlsym(lib, getter));
    return get && get(version, &table) == ZE_RESULT_SUCCESS;
}

} // namespace

std::string read_tables(void *library, api &fn) {
    ze_global_dditable_t global = {};
    ze_driver_dditable_t driver = {};
    ze_device_dditable_t device = {};
    ze_context_dditable_t context = {};
    ze_mem_dditable_t mem = {};
    ze_module_dditable_t module_ = {};
    ze_module_build_log_dditable_t log = {};
    ze_kernel_dditable_t kernel = {};
    ze_event_pool_dditable_t pool = {};
    ze_event_dditable_t event = {};
    // A newer driver may fill in more functions than the struct of this header has: leave room for
    // them.
    struct {
        ze_command_list_dditable_t table;
        void *newer[64];
    } list = {};
#define ZEMM_ZE_READ(getter, table)                                                                          \
    if (!read_table(library, #getter, ZE_API_VERSION_CURRENT, table))                                        \
        return #getter;
    ZEMM_ZE_READ(zeGetGlobalProcAddrTable, global)
    ZEMM_ZE_READ(zeGetDriverProcAddrTable, driver)
    ZEMM_ZE_READ(zeGetDeviceProcAddrTable, device)
    ZEMM_ZE_READ(zeGetContextProcAddrTable, context)
    ZEMM_ZE_READ(zeGetMemProcAddrTable, mem)
    ZEMM_ZE_READ(zeGetModuleProcAddrTable, module_)
    ZEMM_ZE_READ(zeGetModuleBuildLogProcAddrTable, log)
    ZEMM_ZE_READ(zeGetKernelProcAddrTable, kernel)
    ZEMM_ZE_READ(zeGetEventPoolProcAddrTable, pool)
    ZEMM_ZE_READ(zeGetEventProcAddrTable, event)
#undef ZEMM_ZE_READ
    // zeCommandListHostSynchronize (1.6) follows pfnAppendImageCopyFromMemoryExt, the last entry in
    // headers of 1.4.
    constexpr auto version_1_6 = static_cast<ze_api_version_t>(ZE_MAKE_VERSION(1, 6));
    if (read_table(library, "zeGetCommandListProcAddrTable", version_1_6, list.table)) {
        void **last = reinterpret_cast<void **>(&list.table.pfnAppendImageCopyFromMemoryExt);
        fn.zeCommandListHostSynchronize =
            reinterpret_cast<decltype(fn.zeCommandListHostSynchronize)>(last[1]);
    } else if (!read_table(library, "zeGetCommandListProcAddrTable", ZE_API_VERSION_CURRENT, list.table)) {
        return "zeGetCommandListProcAddrTable";
    }

    fn.zeInit = global.pfnInit;
    fn.zeDriverGet = driver.pfnGet;
    fn.zeDriverGetApiVersion = driver.pfnGetApiVersion;
    fn.zeDriverGetProperties = driver.pfnGetProperties;
    fn.zeDriverGetExtensionProperties = driver.pfnGetExtensionProperties;
    fn.zeDeviceGet = device.pfnGet;
    fn.zeDeviceGetProperties = device.pfnGetProperties;
    fn.zeDeviceGetComputeProperties = device.pfnGetComputeProperties;
    fn.zeDeviceGetModuleProperties = device.pfnGetModuleProperties;
    fn.zeDeviceGetCacheProperties = device.pfnGetCacheProperties;
    fn.zeDeviceGetMemoryProperties = device.pfnGetMemoryProperties;
    fn.zeDeviceGetMemoryAccessProperties = device.pfnGetMemoryAccessProperties;
    fn.zeDeviceGetCommandQueueGroupProperties = device.pfnGetCommandQueueGroupProperties;
    fn.zeContextCreate = context.pfnCreate;
    fn.zeContextDestroy = context.pfnDestroy;
    fn.zeMemAllocHost = mem.pfnAllocHost;
    fn.zeMemAllocDevice = mem.pfnAllocDevice;
    fn.zeMemFree = mem.pfnFree;
    fn.zeMemGetAllocProperties = mem.pfnGetAllocProperties;
    fn.zeMemGetAddressRange = mem.pfnGetAddressRange;
    fn.zeModuleCreate = module_.pfnCreate;
    fn.zeModuleDestroy = module_.pfnDestroy;
    fn.zeModuleGetNativeBinary = module_.pfnGetNativeBinary;
    fn.zeModuleBuildLogGetString = log.pfnGetString;
    fn.zeModuleBuildLogDestroy = log.pfnDestroy;
    fn.zeKernelCreate = kernel.pfnCreate;
    fn.zeKernelDestroy = kernel.pfnDestroy;
    fn.zeKernelSetGroupSize = kernel.pfnSetGroupSize;
    fn.zeKernelSetArgumentValue = kernel.pfnSetArgumentValue;
    fn.zeKernelSetIndirectAccess = kernel.pfnSetIndirectAccess;
    fn.zeCommandListCreateImmediate = list.table.pfnCreateImmediate;
    fn.zeCommandListDestroy = list.table.pfnDestroy;
    fn.zeCommandListAppendLaunchKernel = list.table.pfnAppendLaunchKernel;
    fn.zeCommandListAppendMemoryCopy = list.table.pfnAppendMemoryCopy;
    fn.zeCommandListAppendBarrier = list.table.pfnAppendBarrier;
    fn.zeEventPoolCreate = pool.pfnCreate;
    fn.zeEventPoolDestroy = pool.pfnDestroy;
    fn.zeEventCreate = event.pfnCreate;
    fn.zeEventDestroy = event.pfnDestroy;
    fn.zeEventHostSynchronize = event.pfnHostSynchronize;
    fn.zeEventHostReset = event.pfnHostReset;
    fn.zeEventQueryKernelTimestamp = event.pfnQueryKernelTimestamp;
    const char *name = first_missing(fn);
    return name ? name : "";
}

} // namespace zemm::ze
