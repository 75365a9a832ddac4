// SPDX-License-Identifier: Apache-2.0
// The log of ZEMM_VERBOSE: lines "zemm_verbose,v1,..." on stdout, in oneDNN's format (see "Verbose
// Mode" in its documentation).
#pragma once

#include <chrono>
#include <string>

#include "zemm/zemm_types.h"

namespace zemm::verbose {

enum flag : unsigned {
    error = 1,
    warn = 2,
    check = 4,    // why arguments were refused
    dispatch = 8, // why an implementation was skipped
    profile_create = 16,
    profile_exec = 32,
    plan = 64, // how the chosen kernel runs a matmul
};

bool enabled(unsigned flags); // whether any of these flags is on
void set_level(int level);    // as zemm_set_verbose(): 0, 1 or 2
// From now on lines start with "onednn_verbose,v1,", for programs that read oneDNN's log.
void speak_as_onednn();
// Prints a line that starts with "zemm_verbose,v1," and the timestamp, if wanted. The first call
// prints a header before it.
void print(const std::string &line);
// Prints the line if one of the levels is on and print_once() has not printed the same line before.
void print_once(unsigned levels, const std::string &line);
// Warns that the variable has a value with which it is as if not set. expected: what would be right.
void warn_of_variable(const char *name, const std::string &expected);

// Measures the time of a log line, from its construction on.
class timer {
public:
    double milliseconds() const {
        return std::chrono::duration<double, std::milli>(clock::now() - start_).count();
    }

private:
    using clock = std::chrono::steady_clock;
    const clock::time_point start_ = clock::now();
};

} // namespace zemm::verbose
