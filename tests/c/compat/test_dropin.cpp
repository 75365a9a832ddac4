// SPDX-License-Identifier: Apache-2.0
// libdnnl.so.3 without oneDNN's headers: the BLAS functions, the functions of primitives that zemm
// does not have, and the settings. tests/dropin/test_dropin.py compiles a program with oneDNN's headers.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "dropin.h"
#include "zemm_test.hpp"

namespace {

std::mt19937 generator(14);

int random_in(int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(generator);
}

bool says(const char *part) {
    return std::strstr(zemm_last_error(), part);
}

// A row-major matrix with gaps behind its rows.
template <typename T> struct stored {
    zemm_dim_t rows, columns, ld;
    std::vector<T> data;
    stored(zemm_dim_t r, zemm_dim_t c, int low, int high)
        : rows(r), columns(c), ld(c + 3), data(size_t(r * ld)) {
        for (T &value : data)
            value = T(random_in(low, high));
    }
    double at(bool transposed, zemm_dim_t i, zemm_dim_t j) const {
        return double(transposed ? data[size_t(j * ld + i)] : data[size_t(i * ld + j)]);
    }
};

template <typename T>
stored<T> operand(bool transposed, zemm_dim_t rows, zemm_dim_t columns, int low, int high) {
    return transposed ? stored<T>(columns, rows, low, high) : stored<T>(rows, columns, low, high);
}

constexpr zemm_dim_t m = 7, n = 19, k = 37;

// Elements of a type: small integers in floats, so that every sum is exact.
template <typename T> constexpr int low = std::is_same_v<T, float> ? -4 : std::is_signed_v<T> ? -128 : 0;
template <typename T> constexpr int high = std::is_same_v<T, float> ? 4 : low<T> + 255;

// Other parameters of a product.
struct more {
    float alpha = 1, beta = 0;
    char offsetc = 'F';
    int ao = 0, bo = 0;
    std::vector<int32_t> co = std::vector<int32_t>(32);
};

template <typename A, typename B, typename C, typename F>
void check_gemm(F gemm, bool transa, bool transb, const more &with = {}) {
    const int most = std::is_same_v<C, float> ? 9 : 1000000000;
    const auto a = operand<A>(transa, m, k, low<A>, high<A>);
    const auto b = operand<B>(transb, k, n, low<B>, high<B>);
    stored<C> c(m, n, -most, most);
    const stored<C> before = c;
    OK(gemm(transa ? 'T' : 'n', transb ? 't' : 'N', with, a, b, c));
    for (zemm_dim_t i = 0; i < m; ++i)
        for (zemm_dim_t j = 0; j < c.ld; ++j) {
            double expected = before.at(false, i, j); // the gap behind a row
            if (j < n) {
                double sum = 0;
                for (zemm_dim_t l = 0; l < k; ++l)
                    sum += (a.at(transa, i, l) - with.ao) * (b.at(transb, l, j) - with.bo);
                const size_t place = with.offsetc == 'C' ? size_t(i) : with.offsetc == 'r' ? size_t(j) : 0;
                expected = double(with.alpha) * sum + double(with.beta) * expected + with.co[place];
                if (std::is_integral_v<C>)
                    expected = std::nearbyint(std::fmin(std::fmax(expected, INT32_MIN), INT32_MAX));
            }
            CHECK(c.at(false, i, j) == expected);
        }
}

TEST(gemms) {
    const auto sgemm = [](char transa, char transb, const more &with, const auto &a, const auto &b, auto &c) {
        return dnnl_sgemm(transa, transb, m, n, k, with.alpha, a.data.data(), a.ld, b.data.data(), b.ld,
                          with.beta, c.data.data(), c.ld);
    };
    const auto of_bytes = [](auto call) {
        return [call](char transa, char transb, const more &with, const auto &a, const auto &b, auto &c) {
            using byte = std::decay_t<decltype(a.data[0])>;
            return call(transa, transb, with.offsetc, m, n, k, with.alpha, a.data.data(), a.ld, byte(with.ao),
                        b.data.data(), b.ld, int8_t(with.bo), with.beta, c.data.data(), c.ld, with.co.data());
        };
    };
    const auto f32 = [&](auto... with) { check_gemm<float, float, float>(sgemm, with...); };
    const auto u8 = [&](auto... with) {
        check_gemm<uint8_t, int8_t, int32_t>(of_bytes(dnnl_gemm_u8s8s32), with...);
    };
    const auto s8 = [&](auto... with) {
        check_gemm<int8_t, int8_t, int32_t>(of_bytes(dnnl_gemm_s8s8s32), with...);
    };
    for (const bool transa : {false, true})
        for (const bool transb : {false, true}) {
            f32(transa, transb);
            u8(transa, transb);
        }
    f32(true, false, more{0.5f, 2});
    f32(false, false, more{1, 1});
    std::vector<int32_t> offsets(32);
    for (int32_t &value : offsets)
        value = random_in(-1000000000, 1000000000);
    u8(false, false, more{1, 0, 'F', 255, -128, {123456789}});
    u8(true, true, more{1, 1, 'C', 3, 5, offsets});
    u8(false, true, more{0.3f, 2.5f, 'r', 0, 7, offsets});
    s8(false, false, more{1, 0, 'C', -128, 127});
    s8(true, false, more{-2, 0, 'r', 5, 0, offsets});
}

TEST(gemms_without_work) {
    float a[4] = {1, 1, 1, 1}, c[4] = {1, 2, 3, NAN};
    CHECK(dnnl_sgemm('N', 'N', 0, 2, 2, 1, a, 2, a, 2, 0, c, 2) == zemm_success);
    CHECK(c[0] == 1);
    CHECK(dnnl_sgemm('N', 'N', 1, 3, 0, 1, a, 1, a, 3, 2, c, 3) == zemm_success);
    CHECK(c[0] == 2 && c[1] == 4 && c[2] == 6 && std::isnan(c[3]));
    CHECK(dnnl_sgemm('N', 'N', 2, 2, 0, 1, a, 1, a, 2, 0, c, 2) == zemm_success);
    CHECK(c[0] == 0 && c[3] == 0);
}

TEST(refusals_of_gemms) {
    float a[4] = {1, 2, 3, 4}, c[4] = {9, 9, 9, 9};
    INVALID("transa", dnnl_sgemm('X', 'N', 2, 2, 2, 1, a, 2, a, 2, 0, c, 2));
    INVALID("leading dimension of A is 1, at least 2", dnnl_sgemm('N', 'N', 2, 2, 2, 1, a, 1, a, 2, 0, c, 2));
    INVALID("B is NULL", dnnl_sgemm('N', 'N', 2, 2, 2, 1, a, 2, nullptr, 2, 0, c, 2));
    CHECK(dnnl_sgemm('N', 'N', 2, -1, 2, 1, a, 2, a, 2, 0, c, 2) == zemm_invalid_arguments);
    CHECK(c[0] == 9 && c[3] == 9);
    const uint8_t u8[4] = {};
    const int8_t s8[4] = {};
    int32_t s32[4] = {7, 7, 7, 7}, co[1] = {};
    INVALID("offsetc", dnnl_gemm_u8s8s32('N', 'N', 'X', 2, 2, 2, 1, u8, 2, 0, s8, 2, 0, 0, s32, 2, co));
    INVALID("co is NULL",
            dnnl_gemm_u8s8s32('N', 'N', 'F', 2, 2, 2, 1, u8, 2, 0, s8, 2, 0, 0, s32, 2, nullptr));
    CHECK(s32[0] == 7 && s32[3] == 7);
    for (const zemm_dim_t huge :
         {zemm_dim_t{1} << 31, zemm_dim_t{1} << 32}) // more than a vector, or size_t, takes
        for (const zemm_dim_t depth : {0, 1})
            CHECK(dnnl_gemm_s8s8s32('N', 'N', 'F', huge, huge, depth, 2, s8, std::max<zemm_dim_t>(depth, 1),
                                    0, s8, huge, 0, 0, s32, huge, co) == zemm_invalid_arguments);
    CHECK(says("elements"));
    CHECK(s32[0] == 7 && s32[3] == 7);
}

// A call with arguments of any kind is refused, and the output stays as it is.
TEST(absent_functions) {
    int count = 0;
    zemm_primitive_desc_t pd = nullptr;
#define DNNL_ABSENT(name, sentence)                                                                          \
    CHECK(dnnl_##name(&pd, nullptr, 1, 2.0, nullptr, 0, 0, 0, 0, 0) == zemm_unimplemented);                  \
    CHECK(says(sentence));                                                                                   \
    CHECK(!pd);                                                                                              \
    ++count;
#include "compat/compat.def"
    CHECK(count > 50);
    CHECK(dnnl_convolution_forward_primitive_desc_create(&pd) == zemm_unimplemented);
    CHECK(says("zemm has no convolution: its primitives are matmul, inner product (forward), reorder and "
               "dynamic_quantize"));
}

TEST(settings) {
    const zemm_version_t *version = dnnl_version();
    CHECK(version->major == 3 && version->minor >= 13);
    CHECK(std::string(version->hash).starts_with("zemm "));
    CHECK(version->cpu_runtime == ZEMM_RUNTIME_ZE);

    int enabled = -1;
    OK(zemm_set_verbose(0));
    CHECK(dnnl_verbose_profiling_enabled(&enabled) == zemm_success && enabled == 0);
    OK(zemm_set_verbose(1));
    CHECK(dnnl_verbose_profiling_enabled(&enabled) == zemm_success && enabled == 1);
    OK(zemm_set_verbose(0));
    CHECK(dnnl_verbose_profiling_enabled(nullptr) == zemm_invalid_arguments);

    CHECK(dnnl_get_cpu_isa_hints() == 0);
    CHECK(dnnl_set_cpu_isa_hints(1) == zemm_success && dnnl_get_cpu_isa_hints() == 1);
    CHECK(dnnl_set_cpu_isa_hints(2) == zemm_invalid_arguments && dnnl_get_cpu_isa_hints() == 1);

    const char *features = got(zemm_engine_get_features, cpu());
    const std::string isa = dnnl_cpu_isa2str(dnnl_get_effective_cpu_isa());
    const bool has_amx = std::strstr(features, "amx_int8") && std::strstr(features, "amx_bf16");
    CHECK((isa == "cpu_isa_avx10_1_512_amx") == has_amx);
    CHECK((isa.find("avx512_core") != std::string::npos) ==
          (!has_amx && std::strstr(features, "avx512") != nullptr));
    CHECK((isa == "cpu_isa_avx512_core_vnni") ==
          (!has_amx && std::strstr(features, "avx512_vnni") != nullptr));

    CHECK(!std::strcmp(dnnl_cpu_isa2str(0x7), "cpu_isa_avx2"));
    CHECK(!std::strcmp(dnnl_cpu_isa2str(0x2), "unknown cpu_isa"));
    CHECK(!std::strcmp(dnnl_cpu_isa_hints2str(1), "cpu_isa_prefer_ymm"));
    CHECK(!std::strcmp(dnnl_rnn_flags2str(1), "rnn_flags_diff_weights_overwrite"));
    CHECK(!std::strcmp(dnnl_rnn_direction2str(3), "bidirectional_concat"));
}

// As in oneDNN, the parameters of attributes have zero descriptors.
TEST(queries) {
    const auto md = dense({4, 4}, zemm_f32);
    const auto attr = new_attr();
    const auto ops = made(zemm_post_ops_create);
    OK(zemm_primitive_attr_set_scales_mask(attr, ZEMM_ARG_WEIGHTS, 2));
    OK(zemm_post_ops_append_prelu(ops, 2));
    OK(zemm_post_ops_append_binary(ops, zemm_binary_add, md));
    OK(zemm_primitive_attr_set_post_ops(attr, ops));
    const auto pd = matmul(md, md, md, attr);
    const int described[] = {ZEMM_ARG_SRC, ZEMM_ARG_WEIGHTS,
                             ZEMM_ARG_ATTR_MULTIPLE_POST_OP(1) | ZEMM_ARG_SRC_1};
    const int parameters[] = {ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_WEIGHTS,
                              ZEMM_ARG_ATTR_MULTIPLE_POST_OP(0) | ZEMM_ARG_WEIGHTS};
    for (int arg : described)
        CHECK(zemm_memory_desc_equal(md, dnnl_primitive_desc_query_md(pd, zemm_query_exec_arg_md, arg)));
    for (int arg : parameters) {
        const_zemm_memory_desc_t found = md;
        CHECK(zemm_memory_desc_get_size(zemm_primitive_desc_query_md(pd, zemm_query_exec_arg_md, arg)) == 16);
        CHECK(zemm_memory_desc_get_size(dnnl_primitive_desc_query_md(pd, zemm_query_exec_arg_md, arg)) == 0);
        OK(dnnl_primitive_desc_query(pd, zemm_query_exec_arg_md, arg, &found));
        CHECK(zemm_memory_desc_get_size(found) == 0);
    }
    CHECK(zemm_memory_desc_equal(md, dnnl_primitive_desc_query_md(pd, zemm_query_weights_md, 0)));
}

// Whether the cache has the descriptor, as both functions of oneDNN's test programs say.
bool is_cached(zemm_primitive_desc_t pd) {
    return dnnl_test_is_pd_in_cache(reinterpret_cast<const dnnl_primitive_desc *>(pd));
}

bool is_cached(zemm_primitive_t primitive) {
    return dnnl_test_is_primitive_in_cache(reinterpret_cast<const dnnl_primitive *>(primitive));
}

int cache_size() {
    int size = -1;
    OK(dnnl_test_get_primitive_cache_size(&size));
    return size;
}

// The functions with which oneDNN's test programs look into the primitive cache.
TEST(cache_functions) {
    OK(zemm_set_primitive_cache_capacity(0)); // forget earlier tests
    OK(zemm_set_primitive_cache_capacity(8));
    const auto md = dense({4, 4}, zemm_f32);
    const auto pd = matmul(md, md, md);
    CHECK(cache_size() == 0 && !is_cached(pd));
    CHECK(dnnl_test_get_primitive_cache_size(nullptr) == zemm_invalid_arguments);
    const auto primitive = made(zemm_primitive_create, pd);
    CHECK(is_cached(pd) && is_cached(primitive) && cache_size() == 1);
    // With capacity 0 the cache is off, but has its entries later.
    CHECK(dnnl_test_set_primitive_cache_capacity_without_clearing(0) == 8);
    CHECK(!is_cached(pd));
    const auto again = made(zemm_primitive_create, pd);
    CHECK(dnnl_test_set_primitive_cache_capacity_without_clearing(8) == 0);
    CHECK(is_cached(pd) && cache_size() == 1);
    OK(zemm_set_primitive_cache_capacity(0));
    CHECK(cache_size() == 0);
    OK(zemm_set_primitive_cache_capacity(1024));
    CHECK(!dnnl_test_is_pd_in_cache(nullptr) && !dnnl_test_is_primitive_in_cache(nullptr));
}

// The cache knows a grouped matmul, too, whose kernels are those of an ordinary one.
TEST(cache_of_grouped) {
    const zemm_dims_t rows = {8, 4};
    const auto weights = dense({2, 4, 4}, zemm_f32);
    const auto grouped =
        made(zemm_memory_desc_create_with_grouped_encoding, 2, rows, zemm_f32, 0, 2, zemm_s32);
    const auto pd = matmul(grouped, weights, grouped);
    CHECK(!is_cached(pd));
    const auto primitive = made(zemm_primitive_create, pd);
    CHECK(is_cached(pd) && is_cached(primitive));
}

// Objects of the forwards are those of zemm.
TEST(forwards) {
    const zemm_dims_t dims = {3, 5};
    own<zemm_memory_desc_t> md;
    OK(dnnl_memory_desc_create_with_tag(&md, 2, dims, zemm_f32, zemm_ab));
    CHECK(zemm_memory_desc_get_size(md) == 60);
    INVALID("NULL", dnnl_memory_desc_create_with_tag(nullptr, 2, dims, zemm_f32, zemm_ab));
}

// On a CPU the results are there when an execution returns.
TEST(execution_without_wait) {
    constexpr zemm_dim_t size = 1024;
    std::vector<float> a(size * size, 1), b(size * size, 2), c_data(size * size, -1);
    const auto md = dense({size, size}, zemm_f32);
    call c(matmul(md, md, md));
    c.pass(ZEMM_ARG_SRC, a.data());
    c.pass(ZEMM_ARG_WEIGHTS, b.data());
    c.pass(ZEMM_ARG_DST, c_data.data());
    const auto stream = new_stream();
    INVALID("", dnnl_primitive_execute(c.primitive, stream, 2, c.args.data()));
    OK(dnnl_primitive_execute(c.primitive, stream, 3, c.args.data()));
    CHECK(std::ranges::count(c_data, 2.f * size) == size * size);
}

} // namespace
