// SPDX-License-Identifier: Apache-2.0
// One allocation after the other that fails, all in one process.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "check.h"
#include "faults.h"

// Makes each allocation of the call fail in turn, or one in `stride`, up to number `most`. The call returns
// `expected`, or out_of_memory with a sentence, and `expected` when it is repeated; and what it leaves behind
// does not grow. An exception that leaves it ends the test. call: marks by faults::inside what may fail.
template <typename F> void walk(const char *name, zemm_status_t expected, F call, int most, int stride = 1) {
    for (int i = 0; i < 2; i++) // until everything that lives as long as the process exists
        CHECK(call() == expected);
    long usual = faults::live_blocks();
    int n = 0, tried = 0;
    for (bool failed = true; failed && n < most; n += stride, tried++)
        for (int grown = 0, tries = 0; grown == tries && tries < 3; tries++) {
            faults::plan(faults::kind::allocation, n);
            const zemm_status_t status = call();
            failed = faults::has_failed();
            faults::plan(faults::kind::allocation, -1);
            if ((status != expected && (status != zemm_out_of_memory || !failed || !*zemm_last_error())) ||
                call() != expected) {
                std::fprintf(stderr, "%s gave %d with allocation %d failing: %s\n", name, int(status), n,
                             zemm_last_error());
                std::exit(1);
            }
            const long now = faults::live_blocks();
            grown += now > usual;
            usual = now;
            if (grown == 3) {
                std::fprintf(stderr, "%s with allocation %d failing leaves something behind\n", name, n);
                std::exit(1);
            }
        }
    std::printf("%s: %d allocations, %d tried\n", name, n - stride, tried - 1);
}
