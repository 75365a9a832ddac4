// SPDX-License-Identifier: Apache-2.0
#include "ze/provider.hpp"

#include <cerrno>
#include <cstring>

#include <dlfcn.h>

namespace zemm::ze {

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
