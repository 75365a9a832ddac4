// SPDX-License-Identifier: Apache-2.0
// The functions of libdnnl.so.3 that do more than forward, with one allocation after the other that fails:
// no exception leaves them, and the same call succeeds afterwards.
#include <cstdint>
#include <string>

#include "dropin.h"
#include "fault_walk.h"

namespace {

// Each allocation of the call fails, up to the first 400.
template <typename F> void walk_call(const char *name, zemm_status_t expected, F call) {
    walk(
        name, expected,
        [&] {
            const faults::inside marked;
            return call();
        },
        400);
}

void walk_gemms() {
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
    walk_call("dnnl_sgemm", zemm_success, sgemm);
    CHECK(out[0] == 3.5f && out[3] == 11);
    walk_call("dnnl_gemm_s8s8s32", zemm_success, scaled);
    CHECK(sums[0] == 11 && sums[3] == 37);
    walk_call("dnnl_gemm_u8s8s32", zemm_invalid_arguments, [&] {
        return dnnl_gemm_u8s8s32('N', 'N', 'F', 2, 2, 2, 1, u8, 1, 0, s8, 2, 0, 0, sums, 2, co);
    });
}

void walk_the_others() {
    int number = 0;
    walk_call("dnnl_version", zemm_success,
              [] { return dnnl_version() && dnnl_version()->hash[0] ? zemm_success : zemm_runtime_error; });
    walk_call("dnnl_verbose_profiling_enabled", zemm_success,
              [&] { return dnnl_verbose_profiling_enabled(&number); });
    walk_call("dnnl_set_cpu_isa_hints", zemm_invalid_arguments, [] { return dnnl_set_cpu_isa_hints(7); });
    walk_call("dnnl_get_effective_cpu_isa", zemm_success, [&] {
        dnnl_get_effective_cpu_isa();
        return zemm_success;
    });
    walk_call("dnnl_convolution_forward_primitive_desc_create", zemm_unimplemented,
              [] { return dnnl_convolution_forward_primitive_desc_create(nullptr); });
    walk_call("dnnl_primitive_execute", zemm_invalid_arguments,
              [] { return dnnl_primitive_execute(nullptr, nullptr, 0, nullptr); });
    walk_call("dnnl_primitive_desc_query", zemm_invalid_arguments,
              [&] { return dnnl_primitive_desc_query(nullptr, zemm_query_exec_arg_md, 1, &number); });
    walk_call("dnnl_test_...", zemm_success, [&] {
        dnnl_test_is_pd_in_cache(nullptr);
        dnnl_test_is_primitive_in_cache(nullptr);
        dnnl_test_set_primitive_cache_capacity_without_clearing(7);
        return dnnl_test_get_primitive_cache_size(&number);
    });
}

} // namespace

int main() {
    walk_gemms();
    walk_the_others();
    return 0;
}
