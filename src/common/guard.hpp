// SPDX-License-Identifier: Apache-2.0
// The frame of the functions of the C API: they return the status of a failure and keep its sentence for
// zemm_last_error().
#pragma once

#include <exception>
#include <initializer_list>
#include <new>
#include <string>
#include <utility>

#include "common/cancellation.hpp"
#include "common/error.hpp"
#include "common/fork_gate.hpp"
#include "stack/large_stack.h"

namespace zemm {

// Failures of an entry point that the log reports. Queries without an answer are not logged, as programs
// ask to find out whether there is one.
enum class log_failures { all, not_refusals };

// The sentence that zemm_last_error() returns in this thread. set_last_error() also writes the log
// line of ZEMM_VERBOSE=error, check or dispatch.
void set_last_error(zemm_status_t status, const char *message,
                    log_failures logged = log_failures::all) noexcept;
const char *last_error() noexcept;

// Runs the body of a C entry point and turns exceptions into a status. No exception leaves it,
// except the one that unwinds a cancelled thread.
template <typename F> zemm_status_t guard(F &&body, log_failures logged = log_failures::all) {
    const uncancelled until_done;
    try {
        stack::with_large(
            [&] {
                const fork_gate::pass inside;
                body();
                return zemm_success;
            },
            [](const std::string &problem) { fail(zemm_out_of_memory, "%s", problem.c_str()); });
        return zemm_success;
    } catch (const error &e) {
        set_last_error(e.status(), e.what(), logged);
        return e.status();
    } catch (const std::bad_alloc &) {
        set_last_error(zemm_out_of_memory, "out of host memory");
        return zemm_out_of_memory;
    } catch (const std::exception &e) {
        set_last_error(zemm_runtime_error, e.what());
        return zemm_runtime_error;
    } catch (...) {
        if (!std::current_exception()) // not a C++ exception: the unwinding of a cancelled thread
            throw;
        set_last_error(zemm_runtime_error, "an exception of an unknown kind");
        return zemm_runtime_error;
    }
}

// Runs the body of a query. A query without an answer is not logged.
template <typename F> zemm_status_t guard_query(F &&body) {
    return guard(std::forward<F>(body), log_failures::not_refusals);
}

// Throws invalid_arguments for the first of the pointers that is NULL. names: "engine, kind".
void require_all(const char *names, std::initializer_list<const void *> pointers);
// For parameters of an entry point, which have the names that the public header gives them.
#define REQUIRE(...) zemm::require_all(#__VA_ARGS__, {__VA_ARGS__})

} // namespace zemm
