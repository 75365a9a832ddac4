// SPDX-License-Identifier: Apache-2.0
// Primitives of many kinds, from their descriptors to their results, and the functions of libdnnl.so.3 that
// do more than forward.
#include <cstring>

#include "steps.hpp"

#include "dropin.h"

namespace {

constexpr zemm_dim_t m = 6, k = 64, n = 32, groups[] = {32, 1};

using bytes = std::vector<uint8_t>;

void fill(zemm_memory_t memory) {
    const size_t size = zemm_memory_desc_get_size(got(zemm_memory_get_memory_desc, memory));
    void *const data = got(zemm_memory_map_data, memory);
    std::memset(data, 0x3c, size); // 60, 0.0115 as f32, 1.06 as f16
    MUST(zemm_memory_unmap_data(memory, data));
}

// Executes a primitive that reads dst at most once. A failed execution may have launched a kernel.
bytes result_of(zemm_primitive_t primitive, zemm_engine_t engine, const std::vector<zemm_exec_arg_t> &args,
                zemm_memory_t dst, size_t size) {
    const auto stream = new_stream(engine);
    step("zemm_primitive_execute", [&] {
        const zemm_status_t status = zemm_stream_wait(stream);
        fill(dst);
        return status ? status : zemm_primitive_execute(primitive, stream, int(args.size()), args.data());
    });
    MUST(zemm_stream_wait(stream));
    auto *const data = static_cast<const uint8_t *>(got(zemm_memory_map_data, dst));
    const bytes result(data, data + size);
    MUST(zemm_memory_unmap_data(dst, const_cast<uint8_t *>(data)));
    return result;
}

bytes execute(call c, std::initializer_list<int> args, int dst_arg = ZEMM_ARG_DST) {
    zemm_memory_t dst = nullptr;
    for (const int arg : args) {
        c.pass(arg, ZEMM_MEMORY_ALLOCATE);
        fill(c.memories.back());
        if (arg == dst_arg)
            dst = c.memories.back();
    }
    const_zemm_primitive_desc_t pd = c.pd;
    return result_of(
        c.primitive, queried<zemm_engine_t>(pd, zemm_query_engine), c.args, dst,
        zemm_memory_desc_get_size(zemm_primitive_desc_query_md(pd, zemm_query_exec_arg_md, dst_arg)));
}

// Executes a matmul with these memories.
bytes multiply(const own<zemm_primitive_desc_t> &pd, zemm_engine_t engine, zemm_memory_t src,
               zemm_memory_t wei, zemm_memory_t dst) {
    const auto primitive = made(zemm_primitive_create, pd);
    fill(wei);
    return result_of(primitive, engine, {{ZEMM_ARG_SRC, src}, {ZEMM_ARG_WEIGHTS, wei}, {ZEMM_ARG_DST, dst}},
                     dst, m * n * sizeof(float));
}

bytes many_attributes(zemm_engine_t engine) {
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
    return execute(call(matmul(src, wei, dst, attr, bias, engine)),
                   {ZEMM_ARG_SRC, ZEMM_ARG_WEIGHTS, ZEMM_ARG_BIAS, ZEMM_ARG_DST, SCALES(ZEMM_ARG_WEIGHTS),
                    ZERO_POINTS(ZEMM_ARG_WEIGHTS), SCALES(ZEMM_ARG_DST),
                    ZEMM_ARG_ATTR_MULTIPLE_POST_OP(1) | ZEMM_ARG_SRC_1,
                    ZEMM_ARG_ATTR_MULTIPLE_POST_OP(2) | ZEMM_ARG_SRC_1,
                    ZEMM_ARG_ATTR_MULTIPLE_POST_OP(2) | ZEMM_ARG_SRC_2,
                    ZEMM_ARG_ATTR_MULTIPLE_POST_OP(3) | ZEMM_ARG_WEIGHTS});
}

bytes quantised_src(zemm_engine_t engine) {
    const auto attr = new_attr();
    MUST(zemm_primitive_attr_set_fpmath_mode_v2(attr, zemm_fpmath_mode_strict, 1));
    MUST(zemm_primitive_attr_set_scales(attr, ZEMM_ARG_WEIGHTS, 3, 2, groups, zemm_f16));
    MUST(zemm_primitive_attr_set_src_dyn_quant_params(attr, 32));
    return execute(call(matmul(dense({m, k}, zemm_f32), tagged({k, n}, zemm_s4, zemm_format_tag_any),
                               dense({m, n}, zemm_f32), attr, nullptr, engine)),
                   {ZEMM_ARG_SRC, ZEMM_ARG_WEIGHTS, ZEMM_ARG_DST, SCALES(ZEMM_ARG_WEIGHTS)});
}

bytes grouped(zemm_engine_t engine) {
    static int32_t ends[] = {2, 2, int32_t(m)};
    const zemm_dims_t src_dims = {m, k}, dst_dims = {m, n};
    const auto encoded = zemm_memory_desc_create_with_grouped_encoding;
    const auto src = made(encoded, 2, src_dims, zemm_f32, 0, 3, zemm_s32),
               dst = made(encoded, 2, dst_dims, zemm_f32, 0, 3, zemm_s32), wei = dense({3, k, n}, zemm_f32);
    static float src_data[m * k], dst_data[m * n];
    std::fill_n(src_data, m * k, 0.5f);
    void *of_src[] = {src_data, ends}, *of_dst[] = {dst_data, ends};
    return multiply(matmul(src, wei, dst, nullptr, nullptr, engine), engine,
                    made(zemm_memory_create_v2, src, engine, 2, of_src),
                    made(zemm_memory_create, wei, engine, ZEMM_MEMORY_ALLOCATE),
                    made(zemm_memory_create_v2, dst, engine, 2, of_dst));
}

bytes cache_blob(zemm_engine_t engine) {
    call c(matmul(dense({m, k}, zemm_f32), dense({k, n}, zemm_f32), dense({m, n}, zemm_f32), nullptr, nullptr,
                  engine));
    size_t size = 0;
    MUST(zemm_primitive_get_cache_blob(c.primitive, &size, nullptr));
    bytes blob(size);
    MUST(zemm_primitive_get_cache_blob(c.primitive, &size, blob.data()));
    c.primitive.end();
    MUST(zemm_set_primitive_cache_capacity(0)); // else the primitive of before is taken
    MUST(zemm_set_primitive_cache_capacity(1024));
    c.primitive = made(zemm_primitive_create_from_cache_blob, c.pd, blob.size(), blob.data());
    return execute(std::move(c), {ZEMM_ARG_SRC, ZEMM_ARG_WEIGHTS, ZEMM_ARG_DST});
}

bytes runtime_sizes(zemm_engine_t engine) {
    const auto wei = dense({k, n}, zemm_f32);
    const auto src = made(zemm_memory_create, dense({m, k}, zemm_f32), engine, ZEMM_MEMORY_ALLOCATE);
    fill(src);
    return multiply(matmul(dense({ZEMM_RUNTIME_DIM_VAL, k}, zemm_f32), wei,
                           dense({ZEMM_RUNTIME_DIM_VAL, n}, zemm_f32), nullptr, nullptr, engine),
                    engine, src, made(zemm_memory_create, wei, engine, ZEMM_MEMORY_ALLOCATE),
                    made(zemm_memory_create, dense({m, n}, zemm_f32), engine, ZEMM_MEMORY_ALLOCATE));
}

bytes inner_product(zemm_engine_t engine) {
    return execute(call(made(zemm_inner_product_forward_primitive_desc_create, engine, zemm_forward_inference,
                             dense({m, k}, zemm_f32), dense({n, k}, zemm_f32), nullptr,
                             dense({m, n}, zemm_f32), nullptr)),
                   {ZEMM_ARG_SRC, ZEMM_ARG_WEIGHTS, ZEMM_ARG_DST});
}

bytes reorder(zemm_engine_t engine) {
    const auto attr = new_attr();
    MUST(zemm_primitive_attr_set_scales(attr, ZEMM_ARG_TO, 3, 2, groups, zemm_f32));
    return execute(call(made(zemm_reorder_primitive_desc_create, dense({k, n}, zemm_f32), engine,
                             dense({k, n}, zemm_s8), engine, attr)),
                   {ZEMM_ARG_FROM, ZEMM_ARG_TO, SCALES(ZEMM_ARG_TO)}, ZEMM_ARG_TO);
}

bytes gemms(zemm_engine_t) {
    const float f[4] = {1, 2, 3, 4};
    const uint8_t u8[4] = {1, 2, 3, 4};
    const int8_t s8[4] = {1, 2, 3, 4};
    const int32_t co[1] = {5};
    float out[4];
    int32_t sums[4];
    MUST(dnnl_sgemm('N', 'N', 2, 2, 2, 0.5f, f, 2, f, 2, 0, out, 2));
    CHECK(out[0] == 3.5f && out[3] == 11);
    MUST(dnnl_gemm_s8s8s32('N', 'N', 'F', 2, 2, 2, 2, s8, 2, 1, s8, 2, 0, 0, sums, 2, co));
    CHECK(sums[0] == 11 && sums[3] == 37);
    MUST_REFUSE(zemm_invalid_arguments,
                dnnl_gemm_u8s8s32('N', 'N', 'F', 2, 2, 2, 1, u8, 1, 0, s8, 2, 0, 0, sums, 2, co));
    return {};
}

bytes other_calls(zemm_engine_t) {
    int number = 0;
    MUST(dnnl_version() && dnnl_version()->hash[0] ? zemm_success : zemm_runtime_error);
    MUST(dnnl_verbose_profiling_enabled(&number));
    MUST_REFUSE(zemm_invalid_arguments, dnnl_set_cpu_isa_hints(7));
    MUST((dnnl_get_effective_cpu_isa(), zemm_success));
    MUST_REFUSE(zemm_unimplemented, dnnl_convolution_forward_primitive_desc_create(nullptr));
    MUST_REFUSE(zemm_invalid_arguments, dnnl_primitive_execute(nullptr, nullptr, 0, nullptr));
    MUST_REFUSE(zemm_invalid_arguments,
                dnnl_primitive_desc_query(nullptr, zemm_query_exec_arg_md, 1, &number));
    MUST((dnnl_test_is_pd_in_cache(nullptr), dnnl_test_is_primitive_in_cache(nullptr),
          dnnl_test_set_primitive_cache_capacity_without_clearing(7),
          dnnl_test_get_primitive_cache_size(&number)));
    return {};
}

} // namespace

const std::vector<fault_case> fault_cases = {{"many attributes", many_attributes},
                                             {"a quantised src", quantised_src},
                                             {"grouped", grouped},
                                             {"a cache blob", cache_blob},
                                             {"sizes at run time", runtime_sizes},
                                             {"inner product", inner_product},
                                             {"reorder", reorder},
                                             {"gemms", gemms},
                                             {"other calls of the drop-in", other_calls}};
