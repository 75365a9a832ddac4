// SPDX-License-Identifier: Apache-2.0
// TEST(name) { ... }: support/main.cpp, or that of cpu_driver, runs the tests of a program in the order of
// its files. A program with a main() of its own has none.
#pragma once

#include <vector>

struct test_case {
    test_case(const char *its_name, void (*its_body)()) : name(its_name), body(its_body) {
        all().push_back(*this);
    }
    static std::vector<test_case> &all() {
        static std::vector<test_case> tests;
        return tests;
    }
    const char *name;
    void (*body)();
};
#define TEST(name)                                                                                           \
    static void name();                                                                                      \
    static const test_case test_##name(#name, name);                                                         \
    static void name()
