/* SPDX-License-Identifier: Apache-2.0 */
/* The measured limits of a device are plausible and consistent, or refused with a sentence. */
#define _POSIX_C_SOURCE 200809L

#include <string.h>

#include "check.h"

static const struct {
    zemm_peak_t what;
    const char *feature; /* without which the CPU device refuses; NULL: it never does; "": always */
} peaks[] = {
    {zemm_peak_int8, "avx2"},         {zemm_peak_f32, NULL},
    {zemm_peak_copy, NULL},           {zemm_peak_read, NULL},
    {zemm_peak_bf16, "avx512_bf16"},  {zemm_peak_amx_int8, "amx_int8"},
    {zemm_peak_amx_bf16, "amx_bf16"}, {zemm_peak_amx_fp16, "amx_fp16"},
    {zemm_peak_xmx_int8, ""},         {zemm_peak_xmx_half, ""},
    {zemm_peak_xmx_tf32, ""},
};
enum { count = sizeof peaks / sizeof *peaks };

static int has(const char *features, const char *feature) {
    const char *found = strstr(features, feature);
    const char end = found ? found[strlen(feature)] : 'x';
    return end == ',' || end == 0;
}

static void test_bad_arguments(zemm_engine_t engine) {
    double value = -1;
    CHECK(zemm_engine_measure_peak(engine, (zemm_peak_t)99, &value) == zemm_invalid_arguments);
    CHECK(strstr(zemm_last_error(), "99"));
    CHECK(value == -1); /* outputs are not changed */
}

/* Any CPU of the last decade keeps these bounds. A wrong unit or a loop that the compiler removed
 * breaks them. */
static void test_cpu(zemm_engine_t engine, const char *features, const char *mask) {
    double values[count] = {0};
    for (int i = 0; i < count; i++) {
        const char *feature = peaks[i].feature;
        if (mask && (peaks[i].what == zemm_peak_copy || peaks[i].what == zemm_peak_read))
            continue; /* memory has no features */
        const zemm_status_t status = zemm_engine_measure_peak(engine, peaks[i].what, &values[i]);
        if (feature && (!*feature || !has(features, feature))) {
            CHECK(status == zemm_unimplemented);
            CHECK(strstr(zemm_last_error(), *feature ? feature : "in software only"));
            CHECK(values[i] == 0);
            continue;
        }
        CHECK(status == zemm_success);
        CHECK(values[i] > 1e8 && values[i] < 1e15);
        printf("%d: %g\n", (int)peaks[i].what, values[i]);
    }
    /* A register has more of the smaller elements, so their rates differ from that of f32. */
    if (has(features, "avx512_vnni"))
        CHECK(values[0] > 1.5 * values[1] && values[0] < 16 * values[1]);
    if (values[5])
        CHECK(values[5] > 1.5 * values[0] && values[5] > 1.5 * values[6]);
}

int main(void) {
    zemm_engine_t engine = NULL;
    const char *features = NULL;
    const char *mask = getenv("ZEMM_DEVICE_MASK");
    CHECK(zemm_engine_create(&engine, zemm_cpu, 0) == zemm_success);
    CHECK(zemm_engine_get_features(engine, &features) == zemm_success);
    if (mask)
        CHECK(!has(features, mask));
    test_bad_arguments(engine);
    test_cpu(engine, features, mask);
    CHECK(zemm_engine_destroy(engine) == zemm_success);
    return 0;
}
