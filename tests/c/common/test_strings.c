/* SPDX-License-Identifier: Apache-2.0 */
/* Names of enum values, the version, the cache capacity, verbosity. */
#include "refusals.h"

#define SAME(a, b) CHECK(!strcmp((a), (b)))

/* tests/python/test_python_import.py has the names of the values of most enums. */
static void names(void) {
    SAME(zemm_status2str((zemm_status_t)77), "unknown status");
    SAME(zemm_dt2str(zemm_f4_e3m0), "unknown dt");
    SAME(zemm_dt2str((zemm_data_type_t)99), "unknown dt");
    SAME(zemm_fmt_kind2str((zemm_format_kind_t)99), "unknown fmt_kind");
    SAME(zemm_fmt_tag2str(zemm_format_tag_any), "any");
    SAME(zemm_fmt_tag2str(zemm_nchw), "abcd");
    SAME(zemm_fmt_tag2str(zemm_BA16a64b4a), "BA16a64b4a");
    SAME(zemm_fmt_tag2str(zemm_dabc), "dabc");
    SAME(zemm_fmt_tag2str(zemm_nChw16c), "aBcd16b");
    SAME(zemm_fmt_tag2str(zemm_format_tag_undef), "undef");
    SAME(zemm_fmt_tag2str(zemm_format_tag_last), "unknown fmt_tag");
    SAME(zemm_sparse_encoding2str((zemm_sparse_encoding_t)9), "unknown sparse_encoding");
    SAME(zemm_engine_kind2str((zemm_engine_kind_t)9), "unknown engine_kind");
    SAME(zemm_fpmath_mode2str((zemm_fpmath_mode_t)9), "unknown fpmath_mode");
    SAME(zemm_accumulation_mode2str((zemm_accumulation_mode_t)9), "unknown accumulation_mode");
    SAME(zemm_scratchpad_mode2str((zemm_scratchpad_mode_t)9), "unknown scratchpad_mode");
    SAME(zemm_rounding_mode2str((zemm_rounding_mode_t)9), "unknown rounding_mode");
    SAME(zemm_quantization_mode2str((zemm_quantization_mode_t)9), "unknown quantization_mode");
    SAME(zemm_prop_kind2str(zemm_forward_inference), "forward_inference");
    SAME(zemm_prop_kind2str((zemm_prop_kind_t)9), "unknown prop_kind");
    SAME(zemm_prim_kind2str(zemm_matmul), "matmul");
    SAME(zemm_prim_kind2str((zemm_primitive_kind_t)99), "unknown prim_kind");
    SAME(zemm_alg_kind2str((zemm_alg_kind_t)5), "unknown alg_kind");
    SAME(zemm_runtime2str(ZEMM_RUNTIME_NONE), "none");
    SAME(zemm_runtime2str(ZEMM_RUNTIME_SEQ), "sequential");
    SAME(zemm_runtime2str(ZEMM_RUNTIME_OMP), "OpenMP");
    SAME(zemm_runtime2str(ZEMM_RUNTIME_TBB), "TBB");
    SAME(zemm_runtime2str(ZEMM_RUNTIME_THREADPOOL), "threadpool");
    SAME(zemm_runtime2str(ZEMM_RUNTIME_OCL), "OpenCL");
    SAME(zemm_runtime2str(ZEMM_RUNTIME_SYCL), "SYCL");
    SAME(zemm_runtime2str(ZEMM_RUNTIME_ZE), "Level Zero");
    SAME(zemm_runtime2str(3), "unknown runtime");
}

/* Each value of an enum has its own name. */
static void names_differ(void) {
    for (int a = 0; a < 900; a++) {
        const char *name = zemm_fmt_tag2str((zemm_format_tag_t)a);
        for (int b = a + 1; b < 900 && strcmp(name, "unknown fmt_tag"); b++)
            CHECK(strcmp(name, zemm_fmt_tag2str((zemm_format_tag_t)b)));
    }
}

static void service(void) {
    const zemm_version_t *v = zemm_version();
    CHECK(v->major == 0 && v->minor == 1 && v->patch == 0);
    SAME(v->hash, "N/A");
    CHECK(v->cpu_runtime == ZEMM_RUNTIME_ZE && v->gpu_runtime == ZEMM_RUNTIME_ZE);

    int capacity = -7;
    OK(zemm_get_primitive_cache_capacity(&capacity));
    CHECK(capacity == 1024);
    INVALID("-1", zemm_set_primitive_cache_capacity(-1));
    OK(zemm_set_primitive_cache_capacity(0));
    OK(zemm_get_primitive_cache_capacity(&capacity));
    CHECK(capacity == 0);
    OK(zemm_set_primitive_cache_capacity(7));
    OK(zemm_get_primitive_cache_capacity(&capacity));
    CHECK(capacity == 7);

    INVALID("3", zemm_set_verbose(3));
    INVALID("-1", zemm_set_verbose(-1));
    OK(zemm_set_verbose(2));
    OK(zemm_set_verbose(0));
}

int main(void) {
    CHECK(zemm_last_error() && !strcmp(zemm_last_error(), "")); /* nothing has failed yet */
    names();
    names_differ();
    service();
    return 0;
}
