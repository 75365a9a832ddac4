// SPDX-License-Identifier: Apache-2.0
// Keeps and logs the sentence of the last failure of each thread.
#include "common/guard.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "common/names.hpp"
#include "common/verbose.hpp"

namespace zemm {

namespace {

// A fixed buffer, so that storing a sentence cannot run out of memory.
thread_local char last_message[8192] = "";

struct log_level {
    verbose::flag flag;
    const char *prefix;
};

// Wrong arguments and missing implementations are answers to the caller, not faults of the system.
// So the log has them only if ZEMM_VERBOSE asks for them.
log_level level_of(zemm_status_t status) {
    switch (status) {
    case zemm_invalid_arguments:
        return {verbose::check, "primitive,create:check"};
    case zemm_unimplemented:
        return {verbose::dispatch, "primitive,create:dispatch"};
    default:
        return {verbose::error, "primitive,error"};
    }
}

} // namespace

void set_last_error(zemm_status_t status, const char *message, log_failures logged) noexcept {
    std::snprintf(last_message, sizeof last_message, "%s", message);
    const bool is_refusal = status == zemm_invalid_arguments || status == zemm_unimplemented;
    if (status == zemm_success || status == zemm_last_impl_reached ||
        (is_refusal && logged == log_failures::not_refusals))
        return;
    try {
        const log_level level = level_of(status);
        if (!verbose::enabled(level.flag))
            return;
        verbose::print(text("%s,%s,%s", level.prefix, status_name(status), message));
    } catch (...) { // failing to write a log line is no reason to fail
    }
}

const char *last_error() noexcept {
    return last_message;
}

void require_all(const char *names, std::initializer_list<const void *> pointers) {
    std::string_view rest = names;
    for (const void *pointer : pointers) {
        const size_t end = std::min(rest.find(','), rest.size());
        require(pointer, pointer ? "" : std::string(rest.substr(0, end)).c_str());
        rest.remove_prefix(std::min(end + 2, rest.size()));
    }
}

} // namespace zemm
