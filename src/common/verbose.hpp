// SPDX-License-Identifier: Apache-2.0
// The ZEMM_VERBOSE log: lines "zemm_verbose,v1,..." on stdout, in the format of oneDNN's
// (its page "Verbose Mode").
#pragma once

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
};

bool enabled(unsigned flags); // any of them
void set_level(int level);    // 0, 1 or 2, as zemm_set_verbose()
// Prints "zemm_verbose,v1,[timestamp,]" and the line, and a header once.
void print(const std::string &line);
// Prints unless no such level is on, or a line of the same text has been printed so before.
void print_once(unsigned levels, const std::string &line);

} // namespace zemm::verbose
