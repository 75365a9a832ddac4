// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "test_case.hpp"

int main() {
    for (const test_case &test : test_case::all()) {
        std::printf("%s\n", test.name);
        test.body();
    }
}
