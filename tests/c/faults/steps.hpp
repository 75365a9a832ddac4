// SPDX-License-Identifier: Apache-2.0
// Calls of which one may fail: MUST makes it again. To be included before other headers of tests.
#pragma once

#include "faults.h"

// Makes a call. If it fails, the call is made again and must succeed.
template <typename F> void step(const char *call, F &&body);
#define MUST(call) step(#call, [&] { return call; })
#define MUST_END(call) MUST(call)

#include "zemm/zemm_ze.h"
#include "zemm_test.hpp"

inline int failures = 0;         // steps that failed in this walk
inline bool only_memory = false; // whether a failure is out_of_memory; else it may also be runtime_error

template <typename F> void step(const char *call, F &&body) {
    const auto attempt = [&] {
        const faults::inside here;
        return body();
    };
    const zemm_status_t first = attempt();
    if (first == zemm_success)
        return;
    failures++;
    const std::string why = zemm_last_error();
    const bool may = faults::has_failed() && !why.empty() &&
                     (first == zemm_out_of_memory || (first == zemm_runtime_error && !only_memory));
    const zemm_status_t second = may ? attempt() : first;
    if (second != zemm_success)
        std::fprintf(stderr, "%s: status %d, \"%s\", then %d, \"%s\"\n", call, int(first), why.c_str(),
                     int(second), zemm_last_error());
    CHECK(may && second == zemm_success);
}
// The call is refused with this status.
#define MUST_REFUSE(status, call)                                                                            \
    step(#call, [&] {                                                                                        \
        const zemm_status_t answer_ = (call);                                                                \
        return answer_ == (status) ? zemm_success : answer_;                                                 \
    })

// Something to do on an engine. It returns the same bytes each time.
struct fault_case {
    const char *name;
    std::vector<uint8_t> (*run)(zemm_engine_t engine);
};
extern const std::vector<fault_case> fault_cases;
