/* SPDX-License-Identifier: Apache-2.0 */
/* The check of the C tests: if a condition does not hold, the test ends with its place and the last
 * error. */
#ifndef ZEMM_TESTS_CHECK_H
#define ZEMM_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#include "zemm/zemm.h"

#define CHECK(cond)                                                                                          \
    do {                                                                                                     \
        if (!(cond)) {                                                                                       \
            fprintf(stderr, "%s:%d: %s (last error: %s)\n", __FILE__, __LINE__, #cond, zemm_last_error());   \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

/* meson's exit code for a skipped test. */
#define SKIP 77

#endif
