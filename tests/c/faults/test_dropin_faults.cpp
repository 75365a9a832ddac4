// SPDX-License-Identifier: Apache-2.0
// The functions of libdnnl.so.3 that do more than forward, with one allocation after the other that fails: no
// exception leaves them, and the same call succeeds afterwards.
#include "dropin.h"
#include "fault_walk.h"
#include "zemm_test.hpp"

// Each allocation of the call fails, up to the first 400.
template <typename F> static void walk_call(const char *name, zemm_status_t expected, F body) {
    const auto marked = [&] {
        const faults::inside here;
        return body();
    };
    walk(name, expected, marked, 400);
}
#define WALK(expected, call) walk_call(#call, expected, [&] { return call; })

TEST(gemms) {
    const float f[4] = {1, 2, 3, 4};
    const uint8_t u8[4] = {1, 2, 3, 4};
    const int8_t s8[4] = {1, 2, 3, 4};
    const int32_t co[1] = {5};
    float out[4];
    int32_t sums[4];
    const auto sgemm = [&] { return dnnl_sgemm('N', 'N', 2, 2, 2, 0.5f, f, 2, f, 2, 0, out, 2); };
    const auto scaled = [&] {
        return dnnl_gemm_s8s8s32('N', 'N', 'F', 2, 2, 2, 2, s8, 2, 1, s8, 2, 0, 0, sums, 2, co);
    };
    CHECK(sgemm() == zemm_success && scaled() == zemm_success); // the modules are built
    WALK(zemm_success, sgemm());
    CHECK(out[0] == 3.5f && out[3] == 11);
    WALK(zemm_success, scaled());
    CHECK(sums[0] == 11 && sums[3] == 37);
    WALK(zemm_invalid_arguments,
         dnnl_gemm_u8s8s32('N', 'N', 'F', 2, 2, 2, 1, u8, 1, 0, s8, 2, 0, 0, sums, 2, co));
}

TEST(the_others) {
    int number = 0;
    WALK(zemm_success, dnnl_version() && dnnl_version()->hash[0] ? zemm_success : zemm_runtime_error);
    WALK(zemm_success, dnnl_verbose_profiling_enabled(&number));
    WALK(zemm_invalid_arguments, dnnl_set_cpu_isa_hints(7));
    WALK(zemm_success, (dnnl_get_effective_cpu_isa(), zemm_success));
    WALK(zemm_unimplemented, dnnl_convolution_forward_primitive_desc_create(nullptr));
    WALK(zemm_invalid_arguments, dnnl_primitive_execute(nullptr, nullptr, 0, nullptr));
    WALK(zemm_invalid_arguments, dnnl_primitive_desc_query(nullptr, zemm_query_exec_arg_md, 1, &number));
    WALK(zemm_success, (dnnl_test_is_pd_in_cache(nullptr), dnnl_test_is_primitive_in_cache(nullptr),
                        dnnl_test_set_primitive_cache_capacity_without_clearing(7),
                        dnnl_test_get_primitive_cache_size(&number)));
}
