// SPDX-License-Identifier: Apache-2.0
// Primitives of many kinds, from their descriptors to their results, and the functions of libdnnl.so.3 that
// do more than forward, with one allocation after the other that fails: an error or the right result, nothing
// left behind, and the next call is right. A primitive is also the first one on a device, where
// ZEMM_TEST_FAULTS=all tries all allocations. test_faults.cpp has what happens once in a process.
#include <cstring>
#include <functional>

#include "dropin.h"
#include "fault_walk.h"

struct failed {
    zemm_status_t status;
};
#define MUST(call)                                                                                           \
    do {                                                                                                     \
        const faults::inside here;                                                                           \
        if (const zemm_status_t status_ = (call); status_ != zemm_success)                                   \
            throw failed{status_};                                                                           \
    } while (0)

#include "zemm/zemm_ze.h"
#include "zemm_test.hpp"

namespace {

zemm_engine_t engine;
zemm_stream_t stream;

constexpr zemm_dim_t m = 6, k = 64, n = 32, groups[] = {32, 1};

// The bytes of dst.
std::vector<uint8_t> result(size_t(1) << 16);

void fill(zemm_memory_t memory) {
    const size_t size = zemm_memory_desc_get_size(got(zemm_memory_get_memory_desc, memory));
    void *const data = got(zemm_memory_map_data, memory);
    std::memset(data, 0x3c, size); // 60, 0.0115 as f32, 1.06 as f16
    MUST(zemm_memory_unmap_data(memory, data));
}

void keep(zemm_memory_t dst, size_t size) {
    void *const data = got(zemm_memory_map_data, dst);
    CHECK(size > 0 && size <= result.size());
    std::memcpy(result.data(), data, size);
    MUST(zemm_memory_unmap_data(dst, data));
}

void execute(call c, std::initializer_list<int> args, int dst_arg = ZEMM_ARG_DST) {
    zemm_memory_t dst = nullptr;
    for (const int arg : args) {
        c.pass(arg, ZEMM_MEMORY_ALLOCATE);
        fill(c.memories.back());
        if (arg == dst_arg)
            dst = c.memories.back();
    }
    MUST(c.execute(stream));
    MUST(zemm_stream_wait(stream));
    const_zemm_primitive_desc_t pd = c.pd;
    keep(dst, zemm_memory_desc_get_size(zemm_primitive_desc_query_md(pd, zemm_query_exec_arg_md, dst_arg)));
}

// Executes a matmul with these memories.
void multiply(const own<zemm_primitive_desc_t> &pd, zemm_memory_t src, zemm_memory_t wei, zemm_memory_t dst) {
    const auto primitive = made(zemm_primitive_create, pd);
    const zemm_exec_arg_t args[] = {{ZEMM_ARG_SRC, src}, {ZEMM_ARG_WEIGHTS, wei}, {ZEMM_ARG_DST, dst}};
    fill(wei);
    MUST(zemm_primitive_execute(primitive, stream, 3, args));
    MUST(zemm_stream_wait(stream));
    keep(dst, m * n * sizeof(float));
}

void many_attributes() {
    const auto src = dense({m, k}, zemm_s8), wei = tagged({k, n}, zemm_u8, zemm_format_tag_any),
               dst = dense({m, n}, zemm_bf16), row = dense({1, n}, zemm_f32),
               condition = dense({m, n}, zemm_u8), bias = dense({1, n}, zemm_f16);
    const auto ops = made(zemm_post_ops_create);
    MUST(zemm_post_ops_append_eltwise(ops, zemm_eltwise_gelu_erf, 0.f, 0.f));
    MUST(zemm_post_ops_append_binary(ops, zemm_binary_add, row));
    MUST(zemm_post_ops_append_binary_v2(ops, zemm_binary_select, row, condition));
    MUST(zemm_post_ops_append_prelu(ops, 2));
    MUST(zemm_post_ops_append_sum(ops, 0.5f, 0, zemm_data_type_undef));
    const auto attr = new_attr();
    MUST(zemm_primitive_attr_set_post_ops(attr, ops));
    MUST(zemm_primitive_attr_set_scales(attr, ZEMM_ARG_WEIGHTS, 3, 2, groups, zemm_f16));
    MUST(zemm_primitive_attr_set_zero_points(attr, ZEMM_ARG_WEIGHTS, 3, 2, groups, zemm_u8));
    MUST(zemm_primitive_attr_set_scales(attr, ZEMM_ARG_DST, 2, 0, nullptr, zemm_f32));
    execute(call(matmul(src, wei, dst, attr, bias, engine)),
            {ZEMM_ARG_SRC, ZEMM_ARG_WEIGHTS, ZEMM_ARG_BIAS, ZEMM_ARG_DST, SCALES(ZEMM_ARG_WEIGHTS),
             ZERO_POINTS(ZEMM_ARG_WEIGHTS), SCALES(ZEMM_ARG_DST),
             ZEMM_ARG_ATTR_MULTIPLE_POST_OP(1) | ZEMM_ARG_SRC_1,
             ZEMM_ARG_ATTR_MULTIPLE_POST_OP(2) | ZEMM_ARG_SRC_1,
             ZEMM_ARG_ATTR_MULTIPLE_POST_OP(2) | ZEMM_ARG_SRC_2,
             ZEMM_ARG_ATTR_MULTIPLE_POST_OP(3) | ZEMM_ARG_WEIGHTS});
}

void quantised_src() {
    const auto attr = new_attr();
    MUST(zemm_primitive_attr_set_fpmath_mode_v2(attr, zemm_fpmath_mode_strict, 1));
    MUST(zemm_primitive_attr_set_scales(attr, ZEMM_ARG_WEIGHTS, 3, 2, groups, zemm_f16));
    MUST(zemm_primitive_attr_set_src_dyn_quant_params(attr, 32));
    execute(call(matmul(dense({m, k}, zemm_f32), tagged({k, n}, zemm_s4, zemm_format_tag_any),
                        dense({m, n}, zemm_f32), attr, nullptr, engine)),
            {ZEMM_ARG_SRC, ZEMM_ARG_WEIGHTS, ZEMM_ARG_DST, SCALES(ZEMM_ARG_WEIGHTS)});
}

void grouped() {
    static int32_t ends[] = {2, 2, int32_t(m)};
    const zemm_dims_t src_dims = {m, k}, dst_dims = {m, n};
    const auto encoded = zemm_memory_desc_create_with_grouped_encoding;
    const auto src = made(encoded, 2, src_dims, zemm_f32, 0, 3, zemm_s32),
               dst = made(encoded, 2, dst_dims, zemm_f32, 0, 3, zemm_s32), wei = dense({3, k, n}, zemm_f32);
    static float src_data[m * k], dst_data[m * n];
    std::fill_n(src_data, m * k, 0.5f);
    void *of_src[] = {src_data, ends}, *of_dst[] = {dst_data, ends};
    multiply(matmul(src, wei, dst, nullptr, nullptr, engine),
             made(zemm_memory_create_v2, src, engine, 2, of_src),
             made(zemm_memory_create, wei, engine, ZEMM_MEMORY_ALLOCATE),
             made(zemm_memory_create_v2, dst, engine, 2, of_dst));
}

void cache_blob() {
    call c(matmul(dense({m, k}, zemm_f32), dense({k, n}, zemm_f32), dense({m, n}, zemm_f32), nullptr, nullptr,
                  engine));
    size_t size = 0;
    MUST(zemm_primitive_get_cache_blob(c.primitive, &size, nullptr));
    std::vector<uint8_t> blob(size);
    MUST(zemm_primitive_get_cache_blob(c.primitive, &size, blob.data()));
    c.primitive.end();
    MUST(zemm_set_primitive_cache_capacity(0)); // else the primitive of before is taken
    MUST(zemm_set_primitive_cache_capacity(1024));
    c.primitive = made(zemm_primitive_create_from_cache_blob, c.pd, blob.size(), blob.data());
    execute(std::move(c), {ZEMM_ARG_SRC, ZEMM_ARG_WEIGHTS, ZEMM_ARG_DST});
}

void runtime_sizes() {
    const auto wei = dense({k, n}, zemm_f32);
    const auto src = made(zemm_memory_create, dense({m, k}, zemm_f32), engine, ZEMM_MEMORY_ALLOCATE);
    fill(src);
    multiply(matmul(dense({ZEMM_RUNTIME_DIM_VAL, k}, zemm_f32), wei,
                    dense({ZEMM_RUNTIME_DIM_VAL, n}, zemm_f32), nullptr, nullptr, engine),
             src, made(zemm_memory_create, wei, engine, ZEMM_MEMORY_ALLOCATE),
             made(zemm_memory_create, dense({m, n}, zemm_f32), engine, ZEMM_MEMORY_ALLOCATE));
}

void inner_product() {
    execute(call(made(zemm_inner_product_forward_primitive_desc_create, engine, zemm_forward_inference,
                      dense({m, k}, zemm_f32), dense({n, k}, zemm_f32), nullptr, dense({m, n}, zemm_f32),
                      nullptr)),
            {ZEMM_ARG_SRC, ZEMM_ARG_WEIGHTS, ZEMM_ARG_DST});
}

void reorder() {
    const auto attr = new_attr();
    MUST(zemm_primitive_attr_set_scales(attr, ZEMM_ARG_TO, 3, 2, groups, zemm_f32));
    execute(call(made(zemm_reorder_primitive_desc_create, dense({k, n}, zemm_f32), engine,
                      dense({k, n}, zemm_s8), engine, attr)),
            {ZEMM_ARG_FROM, ZEMM_ARG_TO, SCALES(ZEMM_ARG_TO)}, ZEMM_ARG_TO);
}

// The case is the first thing on a device, whose kernels come from disk.
void on_a_new_engine(void (*run)()) {
    const auto fresh =
        made(zemm_ze_interop_engine_create, got(zemm_ze_interop_engine_get_driver, engine),
             got(zemm_ze_interop_engine_get_device, engine), got(zemm_ze_interop_engine_get_context, engine));
    const auto its_stream = new_stream(fresh);
    struct restore {
        zemm_engine_t engine_before = engine;
        zemm_stream_t stream_before = stream;
        ~restore() { engine = engine_before, stream = stream_before; }
    } at_end;
    engine = fresh;
    stream = its_stream;
    run();
}

// Walks through a case whose result is always that of the first time.
void walk_results(const std::string &name, const std::function<void()> &run, int stride) {
    std::fill(result.begin(), result.end(), uint8_t(0));
    run();
    const std::vector<uint8_t> right = result;
    const auto again = [&] {
        std::fill(result.begin(), result.end(), uint8_t(0));
        try {
            run();
        } catch (const failed &f) {
            return f.status;
        }
        CHECK(result == right);
        return zemm_success;
    };
    walk(name.c_str(), zemm_success, again, 100000, stride);
}

// Each allocation of the call fails, up to the first 400.
template <typename F> void walk_call(const char *name, zemm_status_t expected, F body) {
    const auto marked = [&] {
        const faults::inside here;
        return body();
    };
    walk(name, expected, marked, 400);
}
#define WALK(expected, call) walk_call(#call, expected, [&] { return call; })

void gemms() {
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

void other_calls() {
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

} // namespace

int main() {
    // Allocations of an OpenCL runtime that is opened elsewhere would be taken for the driver's.
    {
        const faults::inside opening;
        if (!zemm_engine_get_count(zemm_cpu))
            return SKIP;
    }
    MUST(zemm_set_verbose(0));
    const auto usual = made(zemm_engine_create, zemm_cpu, 0);
    const auto its_stream = new_stream(usual);
    engine = usual;
    stream = its_stream;
    const std::pair<const char *, void (*)()> cases[] = {{"many attributes", many_attributes},
                                                         {"a quantised src", quantised_src},
                                                         {"grouped", grouped},
                                                         {"a cache blob", cache_blob},
                                                         {"sizes at run time", runtime_sizes},
                                                         {"inner product", inner_product},
                                                         {"reorder", reorder}};
    for (const auto &[name, run] : cases) {
        walk_results(name, run, 1);
        walk_results(
            std::string(name) + ", as the first one", [run = run] { on_a_new_engine(run); },
            std::getenv("ZEMM_TEST_FAULTS") ? 1 : 53);
    }
    gemms();
    other_calls();
}
