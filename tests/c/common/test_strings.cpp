// SPDX-License-Identifier: Apache-2.0
// Names of enum values, the version, the cache capacity, verbosity.
#include <set>

#include "same.hpp"
#include "zemm_test.hpp"

TEST(no_error_yet) {
    SAME(zemm_last_error(), "");
}

// tests/python/test_python_import.py has the names of the values of most enums.
TEST(names) {
    SAME(zemm_dt2str(zemm_f4_e3m0), "unknown dt");
    SAME(zemm_fmt_tag2str(zemm_format_tag_any), "any");
    SAME(zemm_fmt_tag2str(zemm_nchw), "abcd");
    SAME(zemm_fmt_tag2str(zemm_BA16a64b4a), "BA16a64b4a");
    SAME(zemm_fmt_tag2str(zemm_dabc), "dabc");
    SAME(zemm_fmt_tag2str(zemm_nChw16c), "aBcd16b");
    SAME(zemm_fmt_tag2str(zemm_format_tag_undef), "undef");
    SAME(zemm_fmt_tag2str(zemm_format_tag_last), "unknown fmt_tag");
    SAME(zemm_prop_kind2str(zemm_forward_inference), "forward_inference");
    SAME(zemm_prim_kind2str(zemm_matmul), "matmul");
    SAME(zemm_prim_kind2str(zemm_undefined_primitive), "undef");
    SAME(zemm_engine_kind2str(zemm_any_engine), "any");
    const std::pair<unsigned, const char *> runtimes[] = {
        {ZEMM_RUNTIME_NONE, "none"}, {ZEMM_RUNTIME_SEQ, "sequential"},        {ZEMM_RUNTIME_OMP, "OpenMP"},
        {ZEMM_RUNTIME_TBB, "TBB"},   {ZEMM_RUNTIME_THREADPOOL, "threadpool"}, {ZEMM_RUNTIME_OCL, "OpenCL"},
        {ZEMM_RUNTIME_SYCL, "SYCL"}, {ZEMM_RUNTIME_ZE, "Level Zero"},         {3, "unknown runtime"}};
    for (const auto &[runtime, name] : runtimes)
        SAME(zemm_runtime2str(runtime), name);
}

TEST(unknown_values) {
#define UNKNOWN(name, type, value) SAME(zemm_##name##2str(type(value)), "unknown " #name)
    UNKNOWN(status, zemm_status_t, 77);
    UNKNOWN(dt, zemm_data_type_t, 99);
    UNKNOWN(fmt_kind, zemm_format_kind_t, 99);
    UNKNOWN(sparse_encoding, zemm_sparse_encoding_t, 9);
    UNKNOWN(engine_kind, zemm_engine_kind_t, 9);
    UNKNOWN(fpmath_mode, zemm_fpmath_mode_t, 9);
    UNKNOWN(accumulation_mode, zemm_accumulation_mode_t, 9);
    UNKNOWN(scratchpad_mode, zemm_scratchpad_mode_t, 9);
    UNKNOWN(rounding_mode, zemm_rounding_mode_t, 9);
    UNKNOWN(quantization_mode, zemm_quantization_mode_t, 9);
    UNKNOWN(prop_kind, zemm_prop_kind_t, 9);
    UNKNOWN(prim_kind, zemm_primitive_kind_t, 99);
    UNKNOWN(alg_kind, zemm_alg_kind_t, 5);
#undef UNKNOWN
}

TEST(names_of_tags_differ) {
    std::set<std::string> names;
    for (int tag = 0; tag < zemm_format_tag_last; tag++)
        CHECK(names.insert(zemm_fmt_tag2str(zemm_format_tag_t(tag))).second);
}

TEST(service) {
    const zemm_version_t *v = zemm_version();
    CHECK(v->major == 0 && v->minor == 1 && v->patch == 0);
    SAME(v->hash, "N/A");
    CHECK(v->cpu_runtime == ZEMM_RUNTIME_ZE && v->gpu_runtime == ZEMM_RUNTIME_ZE);
    CHECK(got(zemm_get_primitive_cache_capacity) == 1024);
    INVALID("-1", zemm_set_primitive_cache_capacity(-1));
    for (const int capacity : {0, 7, 1024}) {
        OK(zemm_set_primitive_cache_capacity(capacity));
        CHECK(got(zemm_get_primitive_cache_capacity) == capacity);
    }
    INVALID("3", zemm_set_verbose(3));
    INVALID("-1", zemm_set_verbose(-1));
    OK(zemm_set_verbose(2));
    OK(zemm_set_verbose(0));
}
