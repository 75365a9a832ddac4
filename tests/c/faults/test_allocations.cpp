// SPDX-License-Identifier: Apache-2.0
// Primitives of many kinds, from their descriptors to their results, with one allocation after the other that
// fails: an error or the right result, nothing left behind, and the next call is right. Each is also the
// first one on a device, where ZEMM_TEST_FAULTS=all tries all allocations. test_faults.cpp has what happens
// once in a process.
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "destroy.h"
#include "fault_walk.h"
#include "zemm/zemm_ze.h"

namespace {

zemm_engine_t engine;
zemm_stream_t stream;

#define TRY(call)                                                                                            \
    do {                                                                                                     \
        zemm_status_t status_;                                                                               \
        {                                                                                                    \
            const faults::inside here;                                                                       \
            status_ = (call);                                                                                \
        }                                                                                                    \
        if (status_ != zemm_success)                                                                         \
            return status_;                                                                                  \
    } while (0)

constexpr zemm_dim_t m = 6, k = 64, n = 32;
using md = own<zemm_memory_desc_t>;

zemm_status_t dense(md &made, std::initializer_list<zemm_dim_t> sizes, zemm_data_type_t type,
                    bool is_any = false) {
    zemm_dims_t dims = {};
    std::copy(sizes.begin(), sizes.end(), dims);
    constexpr zemm_format_tag_t tags[] = {zemm_a, zemm_ab, zemm_abc};
    const zemm_format_tag_t tag = is_any ? zemm_format_tag_any : tags[sizes.size() - 1];
    TRY(zemm_memory_desc_create_with_tag(&made, int(sizes.size()), dims, type, tag));
    return zemm_success;
}

// ---- executions; the bytes of dst go to `result`

std::vector<uint8_t> result(size_t(1) << 16);

zemm_status_t fill(zemm_memory_t memory) {
    void *data = nullptr;
    const_zemm_memory_desc_t about = nullptr;
    TRY(zemm_memory_get_memory_desc(memory, &about));
    TRY(zemm_memory_map_data(memory, &data));
    std::memset(data, 0x3c, zemm_memory_desc_get_size(about)); // 60, 0.0115 as f32, 1.06 as f16
    TRY(zemm_memory_unmap_data(memory, data));
    return zemm_success;
}

zemm_status_t execute(zemm_primitive_t primitive, std::initializer_list<int> args,
                      int dst_arg = ZEMM_ARG_DST) {
    const_zemm_primitive_desc_t pd = nullptr;
    TRY(zemm_primitive_get_primitive_desc(primitive, &pd));
    own<zemm_memory_t> memories[16];
    zemm_exec_arg_t list[16];
    int count = 0;
    zemm_memory_t dst = nullptr;
    for (const int arg : args) {
        const_zemm_memory_desc_t wanted = zemm_primitive_desc_query_md(pd, zemm_query_exec_arg_md, arg);
        CHECK(wanted);
        TRY(zemm_memory_create(&memories[count], wanted, engine, ZEMM_MEMORY_ALLOCATE));
        if (const zemm_status_t status = fill(memories[count]))
            return status;
        list[count] = {arg, memories[count]};
        if (arg == dst_arg)
            dst = memories[count];
        count++;
    }
    TRY(zemm_primitive_execute(primitive, stream, count, list));
    TRY(zemm_stream_wait(stream));
    void *data = nullptr;
    TRY(zemm_memory_map_data(dst, &data));
    const size_t size =
        zemm_memory_desc_get_size(zemm_primitive_desc_query_md(pd, zemm_query_exec_arg_md, dst_arg));
    CHECK(size > 0 && size <= result.size());
    std::memcpy(result.data(), data, size);
    TRY(zemm_memory_unmap_data(dst, data));
    return zemm_success;
}

// ---- cases

zemm_status_t many_attributes() {
    md src, wei, dst, row, condition, bias;
    for (const zemm_status_t status :
         {dense(src, {m, k}, zemm_s8), dense(wei, {k, n}, zemm_u8, true), dense(dst, {m, n}, zemm_bf16),
          dense(row, {1, n}, zemm_f32), dense(condition, {m, n}, zemm_u8), dense(bias, {1, n}, zemm_f16)})
        if (status != zemm_success)
            return status;
    const zemm_dims_t groups = {32, 1};
    own<zemm_post_ops_t> ops;
    TRY(zemm_post_ops_create(&ops));
    TRY(zemm_post_ops_append_eltwise(ops, zemm_eltwise_gelu_erf, 0.f, 0.f));
    TRY(zemm_post_ops_append_binary(ops, zemm_binary_add, row));
    TRY(zemm_post_ops_append_binary_v2(ops, zemm_binary_select, row, condition));
    TRY(zemm_post_ops_append_prelu(ops, 2));
    TRY(zemm_post_ops_append_sum(ops, 0.5f, 0, zemm_data_type_undef));
    own<zemm_primitive_attr_t> attr;
    TRY(zemm_primitive_attr_create(&attr));
    TRY(zemm_primitive_attr_set_post_ops(attr, ops));
    TRY(zemm_primitive_attr_set_scales(attr, ZEMM_ARG_WEIGHTS, 3, 2, groups, zemm_f16));
    TRY(zemm_primitive_attr_set_zero_points(attr, ZEMM_ARG_WEIGHTS, 3, 2, groups, zemm_u8));
    TRY(zemm_primitive_attr_set_scales(attr, ZEMM_ARG_DST, 2, 0, nullptr, zemm_f32));
    own<zemm_primitive_desc_t> pd;
    TRY(zemm_matmul_primitive_desc_create(&pd, engine, src, wei, bias, dst, attr));
    own<zemm_primitive_t> matmul;
    TRY(zemm_primitive_create(&matmul, pd));
    return execute(matmul,
                   {ZEMM_ARG_SRC, ZEMM_ARG_WEIGHTS, ZEMM_ARG_BIAS, ZEMM_ARG_DST,
                    ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_WEIGHTS, ZEMM_ARG_ATTR_ZERO_POINTS | ZEMM_ARG_WEIGHTS,
                    ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_DST, ZEMM_ARG_ATTR_MULTIPLE_POST_OP(1) | ZEMM_ARG_SRC_1,
                    ZEMM_ARG_ATTR_MULTIPLE_POST_OP(2) | ZEMM_ARG_SRC_1,
                    ZEMM_ARG_ATTR_MULTIPLE_POST_OP(2) | ZEMM_ARG_SRC_2,
                    ZEMM_ARG_ATTR_MULTIPLE_POST_OP(3) | ZEMM_ARG_WEIGHTS});
}

zemm_status_t quantised_src() {
    md src, wei, dst;
    for (const zemm_status_t status :
         {dense(src, {m, k}, zemm_f32), dense(wei, {k, n}, zemm_s4, true), dense(dst, {m, n}, zemm_f32)})
        if (status != zemm_success)
            return status;
    const zemm_dims_t groups = {32, 1};
    own<zemm_primitive_attr_t> attr;
    TRY(zemm_primitive_attr_create(&attr));
    TRY(zemm_primitive_attr_set_fpmath_mode_v2(attr, zemm_fpmath_mode_strict, 1));
    TRY(zemm_primitive_attr_set_scales(attr, ZEMM_ARG_WEIGHTS, 3, 2, groups, zemm_f16));
    TRY(zemm_primitive_attr_set_src_dyn_quant_params(attr, 32));
    own<zemm_primitive_desc_t> pd;
    TRY(zemm_matmul_primitive_desc_create(&pd, engine, src, wei, nullptr, dst, attr));
    own<zemm_primitive_t> matmul;
    TRY(zemm_primitive_create(&matmul, pd));
    return execute(matmul,
                   {ZEMM_ARG_SRC, ZEMM_ARG_WEIGHTS, ZEMM_ARG_DST, ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_WEIGHTS});
}

// dst_data: the bytes of y, m * n floats.
zemm_status_t multiply(zemm_primitive_t matmul, zemm_memory_t x, zemm_memory_t w, zemm_memory_t y,
                       const float *dst_data) {
    const zemm_exec_arg_t args[] = {{ZEMM_ARG_SRC, x}, {ZEMM_ARG_WEIGHTS, w}, {ZEMM_ARG_DST, y}};
    TRY(zemm_primitive_execute(matmul, stream, 3, args));
    TRY(zemm_stream_wait(stream));
    std::memcpy(result.data(), dst_data, m * n * sizeof *dst_data);
    return zemm_success;
}

zemm_status_t grouped() {
    static int32_t ends[] = {2, 2, int32_t(m)};
    static float src_data[m * k], dst_data[m * n];
    std::fill_n(src_data, m * k, 0.5f);
    std::fill_n(dst_data, m * n, -1.f);
    md src, wei, dst;
    const zemm_dims_t src_dims = {m, k}, dst_dims = {m, n};
    TRY(zemm_memory_desc_create_with_grouped_encoding(&src, 2, src_dims, zemm_f32, 0, 3, zemm_s32));
    TRY(zemm_memory_desc_create_with_grouped_encoding(&dst, 2, dst_dims, zemm_f32, 0, 3, zemm_s32));
    if (const zemm_status_t status = dense(wei, {3, k, n}, zemm_f32))
        return status;
    own<zemm_primitive_desc_t> pd;
    TRY(zemm_matmul_primitive_desc_create(&pd, engine, src, wei, nullptr, dst, nullptr));
    own<zemm_primitive_t> matmul;
    TRY(zemm_primitive_create(&matmul, pd));
    own<zemm_memory_t> x, y, w;
    void *of_src[] = {src_data, ends}, *of_dst[] = {dst_data, ends};
    TRY(zemm_memory_create_v2(&x, src, engine, 2, of_src));
    TRY(zemm_memory_create_v2(&y, dst, engine, 2, of_dst));
    TRY(zemm_memory_create(&w, wei, engine, ZEMM_MEMORY_ALLOCATE));
    if (const zemm_status_t status = fill(w))
        return status;
    return multiply(matmul, x, w, y, dst_data);
}

zemm_status_t cache_blob() {
    md src, wei, dst;
    for (const zemm_status_t status :
         {dense(src, {m, k}, zemm_f32), dense(wei, {k, n}, zemm_f32), dense(dst, {m, n}, zemm_f32)})
        if (status != zemm_success)
            return status;
    own<zemm_primitive_desc_t> pd;
    TRY(zemm_matmul_primitive_desc_create(&pd, engine, src, wei, nullptr, dst, nullptr));
    std::vector<uint8_t> blob;
    {
        own<zemm_primitive_t> first;
        TRY(zemm_primitive_create(&first, pd));
        size_t size = 0;
        TRY(zemm_primitive_get_cache_blob(first, &size, nullptr));
        blob.resize(size);
        TRY(zemm_primitive_get_cache_blob(first, &size, blob.data()));
    }
    TRY(zemm_set_primitive_cache_capacity(0)); // else the primitive of before is taken
    TRY(zemm_set_primitive_cache_capacity(1024));
    own<zemm_primitive_t> matmul;
    TRY(zemm_primitive_create_from_cache_blob(&matmul, pd, blob.size(), blob.data()));
    return execute(matmul, {ZEMM_ARG_SRC, ZEMM_ARG_WEIGHTS, ZEMM_ARG_DST});
}

zemm_status_t runtime_sizes() {
    md src, wei, dst, actual_src, actual_dst;
    for (const zemm_status_t status :
         {dense(src, {ZEMM_RUNTIME_DIM_VAL, k}, zemm_f32), dense(wei, {k, n}, zemm_f32),
          dense(dst, {ZEMM_RUNTIME_DIM_VAL, n}, zemm_f32), dense(actual_src, {m, k}, zemm_f32),
          dense(actual_dst, {m, n}, zemm_f32)})
        if (status != zemm_success)
            return status;
    own<zemm_primitive_desc_t> pd;
    TRY(zemm_matmul_primitive_desc_create(&pd, engine, src, wei, nullptr, dst, nullptr));
    own<zemm_primitive_t> matmul;
    TRY(zemm_primitive_create(&matmul, pd));
    own<zemm_memory_t> x, y, w;
    static float dst_data[m * n];
    TRY(zemm_memory_create(&x, actual_src, engine, ZEMM_MEMORY_ALLOCATE));
    TRY(zemm_memory_create(&w, wei, engine, ZEMM_MEMORY_ALLOCATE));
    TRY(zemm_memory_create(&y, actual_dst, engine, dst_data));
    for (zemm_memory_t memory : {zemm_memory_t(x), zemm_memory_t(w)})
        if (const zemm_status_t status = fill(memory))
            return status;
    return multiply(matmul, x, w, y, dst_data);
}

zemm_status_t inner_product() {
    md src, wei, dst;
    for (const zemm_status_t status :
         {dense(src, {m, k}, zemm_f32), dense(wei, {n, k}, zemm_f32), dense(dst, {m, n}, zemm_f32)})
        if (status != zemm_success)
            return status;
    own<zemm_primitive_desc_t> pd;
    TRY(zemm_inner_product_forward_primitive_desc_create(&pd, engine, zemm_forward_inference, src, wei,
                                                         nullptr, dst, nullptr));
    own<zemm_primitive_t> primitive;
    TRY(zemm_primitive_create(&primitive, pd));
    return execute(primitive, {ZEMM_ARG_SRC, ZEMM_ARG_WEIGHTS, ZEMM_ARG_DST});
}

zemm_status_t reorder() {
    md from, to;
    for (const zemm_status_t status : {dense(from, {k, n}, zemm_f32), dense(to, {k, n}, zemm_s8)})
        if (status != zemm_success)
            return status;
    const zemm_dims_t groups = {32, 1};
    own<zemm_primitive_attr_t> attr;
    TRY(zemm_primitive_attr_create(&attr));
    TRY(zemm_primitive_attr_set_scales(attr, ZEMM_ARG_TO, 3, 2, groups, zemm_f32));
    own<zemm_primitive_desc_t> pd;
    TRY(zemm_reorder_primitive_desc_create(&pd, from, engine, to, engine, attr));
    own<zemm_primitive_t> primitive;
    TRY(zemm_primitive_create(&primitive, pd));
    return execute(primitive, {ZEMM_ARG_FROM, ZEMM_ARG_TO, ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_TO}, ZEMM_ARG_TO);
}

zemm_status_t (*current)();

// The same as the first thing on a device, whose kernels come from disk.
zemm_status_t on_a_new_engine() {
    own<zemm_engine_t> fresh;
    ze_driver_handle_t driver = nullptr;
    ze_device_handle_t device = nullptr;
    ze_context_handle_t context = nullptr;
    TRY(zemm_ze_interop_engine_get_driver(engine, &driver));
    TRY(zemm_ze_interop_engine_get_device(engine, &device));
    TRY(zemm_ze_interop_engine_get_context(engine, &context));
    TRY(zemm_ze_interop_engine_create(&fresh, driver, device, context));
    own<zemm_stream_t> its_stream;
    TRY(zemm_stream_create(&its_stream, fresh, zemm_stream_default_flags));
    const zemm_engine_t usual = std::exchange(engine, zemm_engine_t(fresh));
    const zemm_stream_t usual_stream = std::exchange(stream, zemm_stream_t(its_stream));
    const zemm_status_t status = current();
    engine = usual;
    stream = usual_stream;
    return status;
}

// Walks through a case whose result is always that of the first time.
void walk_results(const char *name, zemm_status_t (*run)(), int stride) {
    std::fill(result.begin(), result.end(), uint8_t(0));
    CHECK(run() == zemm_success);
    const std::vector<uint8_t> right = result;
    walk(
        name, zemm_success,
        [&] {
            std::fill(result.begin(), result.end(), uint8_t(0));
            const zemm_status_t status = run();
            CHECK(status != zemm_success || result == right);
            return status;
        },
        100000, stride);
}

void walk_case(const char *name, zemm_status_t (*run)()) {
    walk_results(name, run, 1);
    current = run;
    walk_results((std::string(name) + ", as the first one").c_str(), on_a_new_engine,
                 std::getenv("ZEMM_TEST_FAULTS") ? 1 : 53);
}

} // namespace

int main() {
    {
        // Allocations of an OpenCL runtime that is opened elsewhere would be taken for the driver's.
        const faults::inside opening;
        if (!zemm_engine_get_count(zemm_cpu))
            return SKIP;
        OK(zemm_set_verbose(0));
        OK(zemm_engine_create(&engine, zemm_cpu, 0));
    }
    OK(zemm_stream_create(&stream, engine, zemm_stream_default_flags));
    walk_case("many attributes", many_attributes);
    walk_case("a quantised src", quantised_src);
    walk_case("grouped", grouped);
    walk_case("a cache blob", cache_blob);
    walk_case("sizes at run time", runtime_sizes);
    walk_case("inner product", inner_product);
    walk_case("reorder", reorder);
    DESTROY(stream, engine);
    return 0;
}
