// SPDX-License-Identifier: Apache-2.0
// Memories of libdnnl.so.3 whose descriptors are other views of the primitive's elements. Programs of
// oneDNN pass those: it reads a memory as the primitive's descriptor says.
#include <cstring>
#include <initializer_list>
#include <numeric>
#include <vector>

#include "check.h"

extern "C" zemm_status_t dnnl_primitive_execute(const_zemm_primitive_t, zemm_stream_t, int,
                                                const zemm_exec_arg_t *);

namespace {

zemm_engine_t engine;
zemm_stream_t stream;

// A descriptor that is destroyed with its scope.
struct descriptor {
    zemm_memory_desc_t md = nullptr;
    descriptor() = default;
    descriptor(std::initializer_list<zemm_dim_t> dims, zemm_format_tag_t tag) {
        CHECK(zemm_memory_desc_create_with_tag(&md, int(dims.size()), dims.begin(), zemm_f32, tag) ==
              zemm_success);
    }
    ~descriptor() { CHECK(zemm_memory_desc_destroy(md) == zemm_success); }
    descriptor(const descriptor &) = delete;
    descriptor &operator=(const descriptor &) = delete;
};

void reshape(descriptor &out, const descriptor &in, std::initializer_list<zemm_dim_t> dims) {
    CHECK(zemm_memory_desc_reshape(&out.md, in.md, int(dims.size()), dims.begin()) == zemm_success);
}

void permute(descriptor &out, const descriptor &in, std::initializer_list<int> permutation) {
    CHECK(zemm_memory_desc_permute_axes(&out.md, in.md, permutation.begin()) == zemm_success);
}

// Multiplies with memories of the second list, by a primitive for the first. The data of src and weights are
// the numbers from 0 on. Returns the execution's status.
zemm_status_t multiply(const zemm_memory_desc_t (&made_for)[3], const zemm_memory_desc_t (&passed)[3],
                       std::vector<float> &dst) {
    zemm_primitive_desc_t pd;
    zemm_primitive_t primitive;
    CHECK(zemm_matmul_primitive_desc_create(&pd, engine, made_for[0], made_for[1], nullptr, made_for[2],
                                            nullptr) == zemm_success);
    CHECK(zemm_primitive_create(&primitive, pd) == zemm_success);
    std::vector<float> data[3];
    zemm_exec_arg_t args[] = {{ZEMM_ARG_SRC, nullptr}, {ZEMM_ARG_WEIGHTS, nullptr}, {ZEMM_ARG_DST, nullptr}};
    for (int i = 0; i < 3; ++i) {
        data[i].resize(zemm_memory_desc_get_size(passed[i]) / sizeof(float));
        std::iota(data[i].begin(), data[i].end(), 0.f);
        CHECK(zemm_memory_create(&args[i].memory, passed[i], engine, data[i].data()) == zemm_success);
    }
    const zemm_status_t status = dnnl_primitive_execute(primitive, stream, 3, args);
    dst = data[2];
    for (const zemm_exec_arg_t &arg : args)
        CHECK(zemm_memory_destroy(arg.memory) == zemm_success);
    CHECK(zemm_primitive_destroy(primitive) == zemm_success);
    CHECK(zemm_primitive_desc_destroy(pd) == zemm_success);
    return status;
}

void check_equal(const zemm_memory_desc_t (&made_for)[3], const zemm_memory_desc_t (&passed)[3]) {
    std::vector<float> expected, got;
    CHECK(multiply(made_for, made_for, expected) == zemm_success);
    CHECK(multiply(made_for, passed, got) == zemm_success);
    CHECK(got == expected);
}

void check_refused(const zemm_memory_desc_t (&made_for)[3], const zemm_memory_desc_t (&passed)[3]) {
    std::vector<float> dst;
    CHECK(multiply(made_for, passed, dst) == zemm_invalid_arguments);
    CHECK(std::strstr(zemm_last_error(), "the primitive was made for"));
    for (size_t i = 0; i < dst.size(); ++i)
        CHECK(dst[i] == float(i));
}

void test_permuted_weights() {
    const descriptor src({2, 16}, zemm_ab), wei({16, 5}, zemm_ba), dst({2, 5}, zemm_ab);
    descriptor permuted; // as an inner product stores them: {5, 16}
    permute(permuted, wei, {1, 0});
    check_equal({src.md, wei.md, dst.md}, {src.md, permuted.md, dst.md});
    const descriptor other({16, 5}, zemm_ab), fewer({5, 15}, zemm_ab);
    check_refused({src.md, wei.md, dst.md}, {src.md, other.md, dst.md});
    check_refused({src.md, wei.md, dst.md}, {src.md, fewer.md, dst.md});
}

void test_square_weights() {
    const descriptor square({16, 16}, zemm_ab), transposed({16, 16}, zemm_ba);
    check_refused({square.md, square.md, square.md}, {square.md, transposed.md, square.md});
}

void test_one_more_dimension() {
    const descriptor src({1, 2, 16}, zemm_abc), wei({1, 16, 5}, zemm_acb), dst({1, 2, 5}, zemm_abc);
    const descriptor src2({2, 16}, zemm_ab), wei2({16, 5}, zemm_ba), dst2({2, 5}, zemm_ab);
    check_equal({src.md, wei.md, dst.md}, {src2.md, wei2.md, dst2.md});
    check_equal({src2.md, wei2.md, dst2.md}, {src.md, wei.md, dst.md});
}

void test_reshaped_part() {
    const descriptor whole({4, 20}, zemm_ab), wei({1, 16, 5}, zemm_abc), dst({1, 2, 5}, zemm_abc);
    const zemm_dims_t dims = {2, 16}, begin = {1, 3}, elsewhere = {1, 2};
    descriptor part, reshaped, other;
    CHECK(zemm_memory_desc_create_submemory(&part.md, whole.md, dims, begin) == zemm_success);
    CHECK(zemm_memory_desc_create_submemory(&other.md, whole.md, dims, elsewhere) == zemm_success);
    reshape(reshaped, part, {1, 2, 16});
    check_equal({reshaped.md, wei.md, dst.md}, {part.md, wei.md, dst.md});
    check_refused({reshaped.md, wei.md, dst.md}, {other.md, wei.md, dst.md});
}

} // namespace

int main() {
    CHECK(zemm_engine_create(&engine, zemm_cpu, 0) == zemm_success);
    CHECK(zemm_stream_create(&stream, engine, zemm_stream_default_flags) == zemm_success);
    test_permuted_weights();
    test_square_weights();
    test_one_more_dimension();
    test_reshaped_part();
    CHECK(zemm_stream_destroy(stream) == zemm_success);
    CHECK(zemm_engine_destroy(engine) == zemm_success);
    return 0;
}
