// SPDX-License-Identifier: Apache-2.0
// Names of Level Zero results, and the zemm status that a failure becomes.
#include "ze/api.hpp"

#include <cerrno>
#include <cstring>

#include <dlfcn.h>

#include "common/error.hpp"
#include "ze/provider.hpp"

namespace zemm::ze {

const char *result_text(ze_result_t result) {
#define ZEMM_ZE_RESULT(name)                                                                                 \
    case name:                                                                                               \
        return #name;
    switch (result) {
        ZEMM_ZE_RESULT(ZE_RESULT_SUCCESS)
        ZEMM_ZE_RESULT(ZE_RESULT_NOT_READY)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_DEVICE_LOST)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_MODULE_LINK_FAILURE)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_DEVICE_IN_LOW_POWER_STATE)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_NOT_AVAILABLE)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE)
        ZEMM_ZE_RESULT(ZE_RESULT_WARNING_DROPPED_DATA)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_UNINITIALIZED)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_UNSUPPORTED_VERSION)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_INVALID_ARGUMENT)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_INVALID_NULL_HANDLE)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_INVALID_NULL_POINTER)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_INVALID_SIZE)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_UNSUPPORTED_SIZE)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_INVALID_ENUMERATION)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_INVALID_NATIVE_BINARY)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_INVALID_GLOBAL_NAME)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_INVALID_KERNEL_NAME)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_INVALID_FUNCTION_NAME)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_INVALID_KERNEL_ATTRIBUTE_VALUE)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE)
        ZEMM_ZE_RESULT(ZE_RESULT_ERROR_OVERLAPPING_REGIONS)
    default:
        return result == ZE_RESULT_ERROR_UNKNOWN ? "ZE_RESULT_ERROR_UNKNOWN"
                                                 : "a result that zemm does not know";
    }
#undef ZEMM_ZE_RESULT
}

bool is_out_of_memory(ze_result_t result) {
    return result == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY || result == ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
}

void check(ze_result_t result, const char *call) {
    if (result != ZE_RESULT_SUCCESS)
        fail(is_out_of_memory(result) ? zemm_out_of_memory : zemm_runtime_error, "%s returned %s (0x%x)",
             call, result_text(result), static_cast<unsigned>(result));
}

const char *first_missing(const api &fn) {
#define ZEMM_ZE_MISSING(name, table, member)                                                                 \
    if (!fn.name)                                                                                            \
        return #name;
    ZEMM_ZE_FUNCTIONS(ZEMM_ZE_MISSING)
#undef ZEMM_ZE_MISSING
    return nullptr;
}

std::string dl_reason(zemm_status_t &status) {
    const char *said = dlerror();
    const std::string reason = said ? said : "dlopen gave no reason";
    const auto says = [&](const char *part) { return reason.find(part) != std::string::npos; };
    // dlerror() has no code, only a text: the dynamic linker appends strerror() of the reason.
    if (says(std::strerror(ENOMEM)) || says("out of memory"))
        status = zemm_out_of_memory;
    else if (says(std::strerror(ENOENT)) || says(std::strerror(EACCES)) || says("invalid ELF header") ||
             says("file too short") || says("wrong ELF class") || says("undefined symbol"))
        status = zemm_invalid_arguments;
    else
        status = zemm_runtime_error;
    return reason;
}

zemm_status_t status_of_init(ze_result_t result) {
    switch (result) {
    case ZE_RESULT_ERROR_UNINITIALIZED:
    case ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE:
    case ZE_RESULT_ERROR_UNSUPPORTED_VERSION:
    case ZE_RESULT_ERROR_UNSUPPORTED_FEATURE:
    case ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS:
    case ZE_RESULT_ERROR_NOT_AVAILABLE:
        return zemm_invalid_arguments;
    default:
        return is_out_of_memory(result) ? zemm_out_of_memory : zemm_runtime_error;
    }
}

} // namespace zemm::ze
