// SPDX-License-Identifier: Apache-2.0
//
// Finds variables and functions of modules by their names.
#include "border/border.h"
#include "border/entry_points.h"
#include "border/refusal.h"
#include "module.h"
#include "pointer_check.h"

namespace ze_cpu {

ze_result_t zeModuleGetGlobalPointer(ze_module_handle_t hModule, const char *pGlobalName, size_t *pSize,
                                     void **pptr) {
    need_handles(hModule);
    need_pointers(pGlobalName);
    size_t size = 0;
    void *address = variable_in(*hModule->unit->home, pGlobalName, &size);
    if (!address)
        return refuse(ZE_RESULT_ERROR_INVALID_GLOBAL_NAME,
                      std::string("the module exports no variable ") + pGlobalName);
    if (pSize)
        *pSize = size;
    if (pptr)
        *pptr = address;
    return ZE_RESULT_SUCCESS;
}

/// The runtime keeps functions that are called by pointer apart from kernels, and only if the
/// module marks them when it is compiled. So they get a program of their own, which uses the same
/// variables.
ze_result_t zeModuleGetFunctionPointer(ze_module_handle_t hModule, const char *pFunctionName,
                                       void **pfnFunction) {
    need_handles(hModule);
    need_pointers(pFunctionName, pfnFunction);
    std::scoped_lock lock(link_mutex(), hModule->mutex);
    const std::shared_ptr<Unit> &unit = hModule->unit;
    const std::string name = pFunctionName;
    if (!unit->exports_function(name))
        return refuse(ZE_RESULT_ERROR_INVALID_FUNCTION_NAME,
                      "the module exports no function " + name + " (kernels cannot be called by pointer)");
    if (!unit->is_linked())
        return refuse(ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED, missing_sentence(*unit));
    if (!ignores_work_item(*unit, name))
        return refuse(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                      "the function " + name +
                          " or one that it calls uses the work-item that it runs for "
                          "(an id, a barrier, printf) or a builtin of the runtime, which the OpenCL runtime "
                          "gets wrong in calls by pointer");
    if (!hModule->functions.get()) {
        std::string log;
        if (ze_result_t result =
                link_closure(closure_of(unit), ProgramFor::pointers, hModule->functions, log))
            return refuse(result, log);
    }
    void *address = function_in(hModule->functions, name);
    if (!address)
        return refuse(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                      "the OpenCL runtime does not tell where the function " + name + " is");
    *pfnFunction = address;
    return ZE_RESULT_SUCCESS;
}

} // namespace ze_cpu
