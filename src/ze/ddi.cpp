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
#define ZEMM_ZE_READ(getter, type, table)                                                                    \
    type table = {};                                                                                         \
    if (!read_table(library, #getter, ZE_API_VERSION_CURRENT, table))                                        \
        return #getter;
    ZEMM_ZE_READ(zeGetGlobalProcAddrTable, ze_global_dditable_t, global)
    ZEMM_ZE_READ(zeGetDriverProcAddrTable, ze_driver_dditable_t, driver)
    ZEMM_ZE_READ(zeGetDeviceProcAddrTable, ze_device_dditable_t, device)
    ZEMM_ZE_READ(zeGetContextProcAddrTable, ze_context_dditable_t, context)
    ZEMM_ZE_READ(zeGetMemProcAddrTable, ze_mem_dditable_t, mem)
    ZEMM_ZE_READ(zeGetModuleProcAddrTable, ze_module_dditable_t, module_)
    ZEMM_ZE_READ(zeGetModuleBuildLogProcAddrTable, ze_module_build_log_dditable_t, log)
    ZEMM_ZE_READ(zeGetKernelProcAddrTable, ze_kernel_dditable_t, kernel)
    ZEMM_ZE_READ(zeGetEventPoolProcAddrTable, ze_event_pool_dditable_t, pool)
    ZEMM_ZE_READ(zeGetEventProcAddrTable, ze_event_dditable_t, event)
#undef ZEMM_ZE_READ
    // A newer driver may fill in more functions than the struct of this header has: leave room for
    // them.
    struct {
        ze_command_list_dditable_t table;
        void *newer[64];
    } with_room = {};
    ze_command_list_dditable_t &list = with_room.table;
    // zeCommandListHostSynchronize (1.6) follows pfnAppendImageCopyFromMemoryExt, the last entry in
    // headers of 1.4.
    constexpr auto version_1_6 = static_cast<ze_api_version_t>(ZE_MAKE_VERSION(1, 6));
    if (read_table(library, "zeGetCommandListProcAddrTable", version_1_6, list)) {
        void **last = reinterpret_cast<void **>(&list.pfnAppendImageCopyFromMemoryExt);
        fn.zeCommandListHostSynchronize =
            reinterpret_cast<decltype(fn.zeCommandListHostSynchronize)>(last[1]);
    } else if (!read_table(library, "zeGetCommandListProcAddrTable", ZE_API_VERSION_CURRENT, list)) {
        return "zeGetCommandListProcAddrTable";
    }

#define ZEMM_ZE_COPY(name, table, member) fn.name = table.member;
    ZEMM_ZE_FUNCTIONS(ZEMM_ZE_COPY)
#undef ZEMM_ZE_COPY
    const char *name = first_missing(fn);
    return name ? name : "";
}

} // namespace zemm::ze
