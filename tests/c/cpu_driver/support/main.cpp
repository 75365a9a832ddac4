// SPDX-License-Identifier: Apache-2.0
#include "ze_test.h"

int main(int argc, char **argv) {
    open_driver(argc, argv);
    list = immediate_list().release();
    for (const test_case &test : test_case::all()) {
        std::printf("%s\n", test.name);
        test.body();
    }
    destroy(list);
    OK(ze.zeContextDestroy(context));
}
