// SPDX-License-Identifier: Apache-2.0
// Compares texts, and ends the test at a difference.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#define SAME(got, expected) same(got, expected, __FILE__, __LINE__)

inline void same(const std::string &got, const std::string &expected, const char *file, int line) {
    if (got == expected)
        return;
    std::fprintf(stderr, "%s:%d: got \"%s\", expected \"%s\"\n", file, line, got.c_str(), expected.c_str());
    std::exit(1);
}
