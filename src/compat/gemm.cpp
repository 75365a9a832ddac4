// SPDX-License-Identifier: Apache-2.0
// oneDNN's BLAS functions, through matmul primitives on the CPU. Matrices are row-major:
//     C = alpha * op(A) * op(B) + beta * C                                     (f32)
//     C = alpha * (op(A) - ao) * (op(B) - bo) + beta * C + co                  (8 bits to s32)
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "compat/guard.hpp"

using namespace zemm_client;
using namespace zemm_compat;

namespace {

// The CPU engine of all calls. It is created by the first call that succeeds, and never destroyed.
zemm_engine_t the_engine() {
    static std::mutex &lock = *new std::mutex;
    static zemm_engine_t engine = nullptr;
    const std::lock_guard hold(lock);
    if (!engine)
        check(zemm_engine_create(&engine, zemm_cpu, 0));
    return engine;
}

// A matrix of a call, or op() of it: element (i, j) is data[i * strides[0] + j * strides[1]].
struct matrix {
    const void *data;
    zemm_data_type_t type;
    zemm_dims_t dims;
    zemm_dims_t strides;
    int zero_point = 0;
};

bool is_transposed(char flag, const char *name) {
    if (flag == 'N' || flag == 'n')
        return false;
    if (flag != 'T' && flag != 't')
        refuse(std::string(name) + " is neither N nor T");
    return true;
}

// op(X) with the given rows and columns; name is that of X.
matrix make_matrix(const char *name, const void *data, zemm_data_type_t type, zemm_dim_t rows,
                   zemm_dim_t columns, zemm_dim_t ld, bool transposed) {
    if (!data)
        refuse(std::string(name) + " is NULL");
    const zemm_dim_t least = std::max<zemm_dim_t>(1, transposed ? rows : columns);
    if (ld < least)
        refuse("the leading dimension of " + std::string(name) + " is " + std::to_string(ld) + ", at least " +
               std::to_string(least) + " is needed");
    if (transposed)
        return {data, type, {rows, columns}, {1, ld}};
    return {data, type, {rows, columns}, {ld, 1}};
}

owned_md descriptor(const matrix &m) {
    return created<owned_md>([&](zemm_memory_desc_t *md) {
        return zemm_memory_desc_create_with_strides(md, 2, m.dims, m.type, m.strides);
    });
}

owned_memory memory(const_zemm_memory_desc_t md, const void *data) {
    return created<owned_memory>([&](zemm_memory_t *memory) {
        return zemm_memory_create(memory, md, the_engine(), const_cast<void *>(data));
    });
}

// c = alpha * (a - its zero point) * (b - its zero point) + beta * c. alpha and beta are 1 and 0 if c
// is an integer.
void multiply(const matrix &a, const matrix &b, const matrix &c, float alpha = 1, float beta = 0) {
    const auto attr = created<owned_attr>(zemm_primitive_attr_create);
    check(zemm_primitive_attr_set_fpmath_mode(attr.get(), zemm_fpmath_mode_strict));
    const auto post_ops = created<owned_post_ops>(zemm_post_ops_create);
    if (alpha != 1)
        check(zemm_post_ops_append_eltwise(post_ops.get(), zemm_eltwise_linear, alpha, 0));
    if (beta != 0)
        check(zemm_post_ops_append_sum(post_ops.get(), beta, 0, zemm_data_type_undef));
    check(zemm_primitive_attr_set_post_ops(attr.get(), post_ops.get()));

    std::vector<owned_memory> memories;
    std::vector<zemm_exec_arg_t> args;
    const auto pass = [&](int arg, const_zemm_memory_desc_t md, const void *data) {
        memories.push_back(memory(md, data));
        args.push_back({arg, memories.back().get()});
    };
    const owned_md a_md = descriptor(a), b_md = descriptor(b), c_md = descriptor(c);
    pass(ZEMM_ARG_SRC, a_md.get(), a.data);
    pass(ZEMM_ARG_WEIGHTS, b_md.get(), b.data);
    pass(ZEMM_ARG_DST, c_md.get(), c.data);
    const zemm_dims_t one = {1};
    const auto s32 = created<owned_md>([&](zemm_memory_desc_t *md) {
        return zemm_memory_desc_create_with_tag(md, 1, one, zemm_s32, zemm_a);
    });
    const auto pass_zero_point = [&](int arg, const int &value) {
        if (value == 0)
            return;
        check(zemm_primitive_attr_set_zero_points(attr.get(), arg, 0, 0, nullptr, zemm_s32));
        pass(ZEMM_ARG_ATTR_ZERO_POINTS | arg, s32.get(), &value);
    };
    pass_zero_point(ZEMM_ARG_SRC, a.zero_point);
    pass_zero_point(ZEMM_ARG_WEIGHTS, b.zero_point);

    const auto pd = created<owned_pd>([&](zemm_primitive_desc_t *pd) {
        return zemm_matmul_primitive_desc_create(pd, the_engine(), a_md.get(), b_md.get(), nullptr,
                                                 c_md.get(), attr.get());
    });
    const auto primitive = created<owned_primitive>(
        [&](zemm_primitive_t *primitive) { return zemm_primitive_create(primitive, pd.get()); });
    const auto stream = created<owned_stream>([&](zemm_stream_t *stream) {
        return zemm_stream_create(stream, the_engine(), zemm_stream_default_flags);
    });
    check(zemm_primitive_execute(primitive.get(), stream.get(), int(args.size()), args.data()));
    check(zemm_stream_wait(stream.get()));
}

void check_sizes(zemm_dim_t m, zemm_dim_t n, zemm_dim_t k) {
    if (m < 0 || n < 0 || k < 0)
        refuse("M, N and K are " + std::to_string(m) + ", " + std::to_string(n) + " and " +
               std::to_string(k) + ", a negative number is among them");
}

int32_t rounded(double value) {
    using limits = std::numeric_limits<int32_t>;
    return int32_t(std::nearbyint(std::clamp<double>(value, limits::min(), limits::max())));
}

// The offsets in co: element (i, j) has co[i * row_step + j * column_step].
struct offsets {
    const int32_t *co;
    zemm_dim_t row_step, column_step;

    offsets(char offsetc, const int32_t *values)
        : co(values), row_step(offsetc == 'C' || offsetc == 'c'),
          column_step(offsetc == 'R' || offsetc == 'r') {
        if (!row_step && !column_step && offsetc != 'F' && offsetc != 'f')
            refuse("offsetc is none of F, C and R");
        if (!co)
            refuse("co is NULL");
    }
    int32_t at(zemm_dim_t i, zemm_dim_t j) const { return co[i * row_step + j * column_step]; }
    bool are_zero(zemm_dim_t m, zemm_dim_t n) const {
        const zemm_dim_t count = row_step ? m : column_step ? n : 1;
        return std::all_of(co, co + count, [](int32_t value) { return value == 0; });
    }
};

zemm_status_t integer_gemm(char transa, char transb, char offsetc, zemm_dim_t m, zemm_dim_t n, zemm_dim_t k,
                           float alpha, zemm_data_type_t a_type, const void *a, zemm_dim_t lda, int ao,
                           const int8_t *b, zemm_dim_t ldb, int bo, float beta, int32_t *c, zemm_dim_t ldc,
                           const int32_t *co) {
    return guarded([&] {
        check_sizes(m, n, k);
        matrix src = make_matrix("A", a, a_type, m, k, lda, is_transposed(transa, "transa"));
        matrix weights = make_matrix("B", b, zemm_s8, k, n, ldb, is_transposed(transb, "transb"));
        const matrix dst = make_matrix("C", c, zemm_s32, m, n, ldc, false);
        const offsets added(offsetc, co);
        if (m == 0 || n == 0)
            return;
        src.zero_point = ao;
        weights.zero_point = bo;
        if (k > 0 && alpha == 1 && beta == 0 && added.are_zero(m, n))
            return multiply(src, weights, dst);
        descriptor(dst); // refuses more elements than can be counted
        // A post-op of the matmul would round the product to f32, so the rest is done here.
        std::vector<int32_t> product(size_t(m) * size_t(n));
        if (k > 0)
            multiply(src, weights, make_matrix("C", product.data(), zemm_s32, m, n, n, false));
        for (zemm_dim_t i = 0; i < m; ++i)
            for (zemm_dim_t j = 0; j < n; ++j) {
                int32_t &element = c[i * ldc + j];
                const double old = beta == 0 ? 0 : double(beta) * element;
                element = rounded(double(alpha) * product[size_t(i * n + j)] + old + added.at(i, j));
            }
    });
}

} // namespace

extern "C" {

zemm_status_t ZEMM_API dnnl_sgemm(char transa, char transb, zemm_dim_t m, zemm_dim_t n, zemm_dim_t k,
                                  float alpha, const float *a, zemm_dim_t lda, const float *b, zemm_dim_t ldb,
                                  float beta, float *c, zemm_dim_t ldc) {
    return guarded([&] {
        check_sizes(m, n, k);
        const matrix src = make_matrix("A", a, zemm_f32, m, k, lda, is_transposed(transa, "transa"));
        const matrix weights = make_matrix("B", b, zemm_f32, k, n, ldb, is_transposed(transb, "transb"));
        const matrix dst = make_matrix("C", c, zemm_f32, m, n, ldc, false);
        if (m == 0 || n == 0)
            return;
        if (k > 0)
            return multiply(src, weights, dst, alpha, beta);
        for (zemm_dim_t i = 0; i < m; ++i)
            for (zemm_dim_t j = 0; j < n; ++j)
                c[i * ldc + j] = beta == 0 ? 0 : beta * c[i * ldc + j];
    });
}

zemm_status_t ZEMM_API dnnl_gemm_u8s8s32(char transa, char transb, char offsetc, zemm_dim_t m, zemm_dim_t n,
                                         zemm_dim_t k, float alpha, const uint8_t *a, zemm_dim_t lda,
                                         uint8_t ao, const int8_t *b, zemm_dim_t ldb, int8_t bo, float beta,
                                         int32_t *c, zemm_dim_t ldc, const int32_t *co) {
    return integer_gemm(transa, transb, offsetc, m, n, k, alpha, zemm_u8, a, lda, ao, b, ldb, bo, beta, c,
                        ldc, co);
}

zemm_status_t ZEMM_API dnnl_gemm_s8s8s32(char transa, char transb, char offsetc, zemm_dim_t m, zemm_dim_t n,
                                         zemm_dim_t k, float alpha, const int8_t *a, zemm_dim_t lda,
                                         int8_t ao, const int8_t *b, zemm_dim_t ldb, int8_t bo, float beta,
                                         int32_t *c, zemm_dim_t ldc, const int32_t *co) {
    return integer_gemm(transa, transb, offsetc, m, n, k, alpha, zemm_s8, a, lda, ao, b, ldb, bo, beta, c,
                        ldc, co);
}
}
