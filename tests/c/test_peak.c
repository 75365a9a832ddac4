/* SPDX-License-Identifier: Apache-2.0 */
/* The measured limits of a device are plausible and consistent, or refused with a sentence. */
#define _POSIX_C_SOURCE 200809L

#include <string.h>

#include "check.h"

static const zemm_peak_t all[] = {zemm_peak_int8, zemm_peak_f32, zemm_peak_copy, zemm_peak_read};

static void test_bad_arguments(zemm_engine_t engine) {
    double value = -1;
    CHECK(zemm_engine_measure_peak(engine, (zemm_peak_t)99, &value) == zemm_invalid_arguments);
    CHECK(strstr(zemm_last_error(), "99"));
    CHECK(value == -1); /* outputs are not changed */
}

/* Any CPU of the last decade keeps these bounds. A wrong unit or a loop that the compiler removed
 * breaks them. */
static void test_cpu(zemm_engine_t engine, int with_vnni) {
    double values[4] = {0};
    for (int i = 0; i < 4; i++) {
        const zemm_status_t status = zemm_engine_measure_peak(engine, all[i], &values[i]);
        if (all[i] == zemm_peak_int8 && !with_vnni) {
            CHECK(status == zemm_unimplemented);
            CHECK(strstr(zemm_last_error(), "avx512_vnni"));
            CHECK(values[i] == 0);
            continue;
        }
        CHECK(status == zemm_success);
        CHECK(values[i] > 1e8 && values[i] < 1e15);
        printf("%d: %g\n", (int)all[i], values[i]);
    }
    if (with_vnni) /* int8 has four times as many elements in a register, so its rate differs from f32 */
        CHECK(values[0] > 1.5 * values[1] && values[0] < 16 * values[1]);
}

int main(void) {
    zemm_engine_t engine = NULL;
    const char *features = NULL;
    const char *mask = getenv("ZEMM_DEVICE_MASK");
    CHECK(zemm_engine_create(&engine, zemm_cpu, 0) == zemm_success);
    CHECK(zemm_engine_get_features(engine, &features) == zemm_success);
    if (mask && strstr(mask, "avx512_vnni"))
        CHECK(!strstr(features, "avx512_vnni"));
    test_bad_arguments(engine);
    test_cpu(engine, strstr(features, "avx512_vnni") != NULL);
    CHECK(zemm_engine_destroy(engine) == zemm_success);
    return 0;
}
