// SPDX-License-Identifier: Apache-2.0
// A program of oneDNN's C++ header, which runs with any libdnnl.so.3: dropin_program CASE. It computes
// the case on the CPU and compares dst with a plain loop. Scales are powers of two and the values are
// small integers, so that all results are exact in f32. The exit code is 0 if dst is right, 77 if the
// library says unimplemented, and 1 otherwise.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "oneapi/dnnl/dnnl.hpp"

using namespace dnnl;
using dt = memory::data_type;
using tag = memory::format_tag;

namespace {

constexpr memory::dim M = 5, N = 48, K = 128, group = 32, groups = K / group;

struct context {
    engine eng{engine::kind::cpu, 0};
    stream str{eng};
    std::mt19937 generator{14};

    template <typename T> std::vector<T> random(memory::dim count, int low, int high) {
        std::uniform_int_distribution<int> numbers(low, high);
        std::vector<T> values(static_cast<size_t>(count));
        for (T &value : values)
            value = static_cast<T>(numbers(generator));
        return values;
    }
    std::vector<float> random_scales(memory::dim count) {
        std::vector<float> values = random<float>(count, 0, 3);
        for (float &value : values)
            value = 0.25f * static_cast<float>(1 << static_cast<int>(value));
        return values;
    }
    // A memory with a copy of the values.
    template <typename T>
    memory filled(const memory::dims &dims, dt type, tag layout, const std::vector<T> &values) {
        memory result({dims, type, layout}, eng);
        void *mapped = result.map_data<void>();
        std::memcpy(mapped, values.data(), values.size() * sizeof(T));
        result.unmap_data(mapped);
        return result;
    }
    void run(const primitive &what, const std::unordered_map<int, memory> &args) {
        what.execute(str, args);
        str.wait();
    }
};

std::vector<float> read(const memory &m, memory::dim count) {
    std::vector<float> values(static_cast<size_t>(count));
    void *mapped = m.map_data<void>();
    std::memcpy(values.data(), mapped, values.size() * sizeof(float));
    m.unmap_data(mapped);
    return values;
}

// Compares dst with expected(m, n).
bool is_right(const memory &dst, memory::dim rows, memory::dim columns,
              const std::function<double(size_t, size_t)> &expected) {
    const std::vector<float> got = read(dst, rows * columns);
    for (size_t m = 0; m < size_t(rows); ++m)
        for (size_t n = 0; n < size_t(columns); ++n)
            if (got[m * size_t(columns) + n] != expected(m, n)) {
                std::printf("wrong: dst[%zu][%zu] is %g, not %g\n", m, n, got[m * size_t(columns) + n],
                            expected(m, n));
                return false;
            }
    return true;
}

memory::desc plain(const memory::dims &dims, dt type) {
    return {dims, type, tag::ab};
}

// dst = sum over groups of src_scale * weights_scale * sum of src * (weights - zero point), where the
// zero point and the scales are those of the group. With reductions, the caller passes the sums of
// src over the groups.
bool grouped(bool with_reductions) {
    context c;
    const auto src = c.random<int8_t>(M * K, -8, 8);
    const auto weights = c.random<uint8_t>(K * N, 0, 15);
    const auto zero_points = c.random<uint8_t>(groups * N, 0, 15);
    const auto src_scales = c.random_scales(M * groups), weights_scales = c.random_scales(groups * N);

    primitive_attr attr;
    attr.set_scales(DNNL_ARG_SRC, 3, {1, group});
    attr.set_scales(DNNL_ARG_WEIGHTS, 3, {group, 1});
    attr.set_zero_points(DNNL_ARG_WEIGHTS, 3, {group, 1}, dt::u8);
    std::unordered_map<int, memory> args;
    std::vector<int32_t> reductions;
    if (with_reductions) {
        attr.set_precomputed_reductions(DNNL_ARG_SRC, 3, {1, group});
        for (size_t m = 0; m < M; ++m)
            for (size_t g = 0; g < groups; ++g) {
                int32_t sum = 0;
                for (size_t k = g * group; k < (g + 1) * group; ++k)
                    sum += src[m * K + k];
                reductions.push_back(sum);
            }
        args[DNNL_ARG_ATTR_PRECOMPUTED_REDUCTIONS | DNNL_ARG_SRC] =
            c.filled({M, groups}, dt::s32, tag::ab, reductions);
    }
    const matmul::primitive_desc pd(c.eng, plain({M, K}, dt::s8), plain({K, N}, dt::u8),
                                    plain({M, N}, dt::f32), attr);
    const memory dst(pd.dst_desc(), c.eng);
    args[DNNL_ARG_SRC] = c.filled({M, K}, dt::s8, tag::ab, src);
    args[DNNL_ARG_WEIGHTS] = c.filled({K, N}, dt::u8, tag::ab, weights);
    args[DNNL_ARG_DST] = dst;
    args[DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC] = c.filled({M, groups}, dt::f32, tag::ab, src_scales);
    args[DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS] = c.filled({groups, N}, dt::f32, tag::ab, weights_scales);
    args[DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_WEIGHTS] = c.filled({groups, N}, dt::u8, tag::ab, zero_points);
    c.run(matmul(pd), args);
    return is_right(dst, M, N, [&](size_t m, size_t n) {
        double sum = 0;
        for (size_t k = 0; k < K; ++k) {
            const size_t g = k / group;
            sum += double(src_scales[m * groups + g]) * weights_scales[g * N + n] * src[m * K + k] *
                   (weights[k * N + n] - zero_points[g * N + n]);
        }
        return sum;
    });
}

// dst = relu(src_scale * (src - src_zp) * weights + bias) in u8 by s8.
bool zero_points() {
    context c;
    const auto src = c.random<uint8_t>(M * K, 0, 255);
    const auto weights = c.random<int8_t>(K * N, -64, 63); // on AVX2 oneDNN's sums of larger pairs saturate
    const auto bias = c.random<float>(N, -1000, 1000);
    primitive_attr attr;
    attr.set_scales_mask(DNNL_ARG_SRC, 0);
    attr.set_zero_points_mask(DNNL_ARG_SRC, 0);
    post_ops ops;
    ops.append_eltwise(algorithm::eltwise_relu, 0, 0);
    attr.set_post_ops(ops);
    const matmul::primitive_desc pd(c.eng, plain({M, K}, dt::u8), plain({K, N}, dt::s8),
                                    plain({1, N}, dt::f32), plain({M, N}, dt::f32), attr);
    const memory dst(pd.dst_desc(), c.eng);
    c.run(matmul(pd),
          {{DNNL_ARG_SRC, c.filled({M, K}, dt::u8, tag::ab, src)},
           {DNNL_ARG_WEIGHTS, c.filled({K, N}, dt::s8, tag::ab, weights)},
           {DNNL_ARG_BIAS, c.filled({1, N}, dt::f32, tag::ab, bias)},
           {DNNL_ARG_DST, dst},
           {DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC, c.filled({1}, dt::f32, tag::a, std::vector<float>{0.5f})},
           {DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC,
            c.filled({1}, dt::s32, tag::a, std::vector<int32_t>{100})}});
    return is_right(dst, M, N, [&](size_t m, size_t n) {
        double sum = 0;
        for (size_t k = 0; k < K; ++k)
            sum += (src[m * K + k] - 100) * weights[k * N + n];
        return std::max(0.0, 0.5 * sum + bias[n]);
    });
}

// f32 src by u8 weights, whose zero points and scales are those of groups of K.
bool weights_only() {
    context c;
    const auto src = c.random<float>(M * K, -8, 8);
    const auto weights = c.random<uint8_t>(K * N, 0, 15);
    const auto scales = c.random_scales(groups * N);
    primitive_attr attr;
    attr.set_fpmath_mode(fpmath_mode::strict, true);
    attr.set_scales(DNNL_ARG_WEIGHTS, 3, {group, 1});
    attr.set_zero_points(DNNL_ARG_WEIGHTS, 0, {}, dt::u8);
    const matmul::primitive_desc pd(c.eng, plain({M, K}, dt::f32), plain({K, N}, dt::u8),
                                    plain({M, N}, dt::f32), attr);
    const memory dst(pd.dst_desc(), c.eng);
    c.run(matmul(pd),
          {{DNNL_ARG_SRC, c.filled({M, K}, dt::f32, tag::ab, src)},
           {DNNL_ARG_WEIGHTS, c.filled({K, N}, dt::u8, tag::ab, weights)},
           {DNNL_ARG_DST, dst},
           {DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, c.filled({groups, N}, dt::f32, tag::ab, scales)},
           {DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_WEIGHTS,
            c.filled({1}, dt::u8, tag::a, std::vector<uint8_t>{7})}});
    return is_right(dst, M, N, [&](size_t m, size_t n) {
        double sum = 0;
        for (size_t k = 0; k < K; ++k)
            sum += double(src[m * K + k]) * scales[k / group * N + n] * (weights[k * N + n] - 7);
        return sum;
    });
}

// One primitive runs with several M. Weights have the layout that the library chooses.
bool runtime_m() {
    context c;
    const auto weights = c.random<float>(K * N, -8, 8);
    const matmul::primitive_desc pd(c.eng, plain({DNNL_RUNTIME_DIM_VAL, K}, dt::f32),
                                    memory::desc({K, N}, dt::f32, tag::any),
                                    plain({DNNL_RUNTIME_DIM_VAL, N}, dt::f32));
    const matmul prim(pd);
    memory plain_weights = c.filled({K, N}, dt::f32, tag::ab, weights);
    memory own_weights(pd.weights_desc(), c.eng);
    reorder(plain_weights, own_weights).execute(c.str, plain_weights, own_weights);
    c.str.wait();
    for (const memory::dim rows : {M, memory::dim(33), memory::dim(1), M}) {
        const auto src = c.random<float>(rows * K, -8, 8);
        const memory dst(plain({rows, N}, dt::f32), c.eng);
        c.run(prim, {{DNNL_ARG_SRC, c.filled({rows, K}, dt::f32, tag::ab, src)},
                     {DNNL_ARG_WEIGHTS, own_weights},
                     {DNNL_ARG_DST, dst}});
        const bool right = is_right(dst, rows, N, [&](size_t m, size_t n) {
            double sum = 0;
            for (size_t k = 0; k < K; ++k)
                sum += double(src[m * K + k]) * weights[k * N + n];
            return sum;
        });
        if (!right)
            return false;
    }
    return true;
}

// A reorder to another layout and data type with a scale, and back.
bool reorders() {
    context c;
    const auto values = c.random<float>(K * N, -100, 100);
    primitive_attr attr;
    attr.set_scales_mask(DNNL_ARG_DST, 0);
    memory from = c.filled({K, N}, dt::f32, tag::ab, values);
    memory between({{K, N}, dt::s8, tag::ba}, c.eng), to({{K, N}, dt::f32, tag::ab}, c.eng);
    const reorder::primitive_desc pd(c.eng, from.get_desc(), c.eng, between.get_desc(), attr);
    c.run(reorder(pd),
          {{DNNL_ARG_FROM, from},
           {DNNL_ARG_TO, between},
           {DNNL_ARG_ATTR_SCALES | DNNL_ARG_DST, c.filled({1}, dt::f32, tag::a, std::vector<float>{2.f})}});
    reorder(between, to).execute(c.str, between, to);
    c.str.wait();
    return is_right(to, K, N, [&](size_t k, size_t n) { return std::nearbyint(values[k * N + n] / 2); });
}

// A primitive from a cache blob. oneDNN has blobs for some GPUs only.
bool cache_blob() {
    context c;
    const matmul::primitive_desc pd(c.eng, plain({M, K}, dt::f32), plain({K, N}, dt::f32),
                                    plain({M, N}, dt::f32));
    const std::vector<uint8_t> blob = matmul(pd).get_cache_blob(), id = pd.get_cache_blob_id();
    if (blob.empty() || id.empty() || id != pd.get_cache_blob_id())
        return false;
    const memory dst(pd.dst_desc(), c.eng);
    c.run(matmul(pd, blob),
          {{DNNL_ARG_SRC, c.filled({M, K}, dt::f32, tag::ab, std::vector<float>(M * K, 1))},
           {DNNL_ARG_WEIGHTS, c.filled({K, N}, dt::f32, tag::ab, std::vector<float>(K * N, 1))},
           {DNNL_ARG_DST, dst}});
    return is_right(dst, M, N, [&](size_t, size_t) { return K; });
}

// With a spatial src, bias, a post-op, and weights in the layout that the library wants.
bool inner_product() {
    context c;
    constexpr memory::dim channels = 64, places = 2;
    post_ops ops;
    ops.append_eltwise(algorithm::eltwise_relu, 0, 0);
    primitive_attr attr;
    attr.set_post_ops(ops);
    const inner_product_forward::primitive_desc pd(
        c.eng, prop_kind::forward_inference, {{M, channels, 1, places}, dt::f32, tag::any},
        {{N, channels, 1, places}, dt::f32, tag::any}, {{N}, dt::f32, tag::any}, {{M, N}, dt::f32, tag::any},
        attr);
    if (pd.get_kind() != primitive::kind::inner_product || pd.get_prop_kind() != prop_kind::forward_inference)
        return false;
    constexpr memory::dim k = channels * places;
    const auto src = c.random<float>(M * k, -3, 3), weights = c.random<float>(N * k, -3, 3);
    const auto bias = c.random<float>(N, -3, 3);
    const auto moved = [&](const memory &from, const memory::desc &to) {
        memory result(to, c.eng);
        c.run(reorder(from, result), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, result}});
        return result;
    };
    const memory dst(pd.dst_desc(), c.eng);
    c.run(inner_product_forward(pd),
          {{DNNL_ARG_SRC, moved(c.filled({M, channels, 1, places}, dt::f32, tag::abcd, src), pd.src_desc())},
           {DNNL_ARG_WEIGHTS,
            moved(c.filled({N, channels, 1, places}, dt::f32, tag::abcd, weights), pd.weights_desc())},
           {DNNL_ARG_BIAS, c.filled({N}, dt::f32, tag::a, bias)},
           {DNNL_ARG_DST, dst}});
    return is_right(moved(dst, {{M, N}, dt::f32, tag::ab}), M, N, [&](size_t m, size_t n) {
        double sum = bias[n];
        for (size_t i = 0; i < size_t(k); ++i)
            sum += src[m * size_t(k) + i] * weights[n * size_t(k) + i];
        return std::max(sum, 0.0);
    });
}

bool convolution() {
    context c;
    const memory::dims image = {1, 16, 8, 8}, filter = {16, 16, 3, 3};
    const convolution_forward::primitive_desc pd(
        c.eng, prop_kind::forward_inference, algorithm::convolution_direct, {image, dt::f32, tag::nchw},
        {filter, dt::f32, tag::oihw}, {image, dt::f32, tag::nchw}, {1, 1}, {1, 1}, {1, 1});
    return true;
}

bool about() {
    const version_t *v = version();
    std::printf("%d.%d %s\n", v->major, v->minor, v->hash);
    return v->major == DNNL_VERSION_MAJOR && v->minor >= DNNL_VERSION_MINOR;
}

const std::map<std::string, std::function<bool()>> cases = {
    {"groups", [] { return grouped(false); }},
    {"reductions", [] { return grouped(true); }},
    {"zero_points", zero_points},
    {"weights_only", weights_only},
    {"runtime_m", runtime_m},
    {"reorders", reorders},
    {"inner_product", inner_product},
    {"cache_blob", cache_blob},
    {"convolution", convolution},
    {"about", about},
};

} // namespace

int main(int argc, char **argv) {
    const auto found = argc == 2 ? cases.find(argv[1]) : cases.end();
    if (found == cases.end()) {
        std::fputs("dropin_program CASE\n", stderr);
        return 2;
    }
    try {
        return found->second() ? 0 : 1;
    } catch (const error &e) {
        std::printf("%s\n", e.what());
        return e.status == dnnl_unimplemented ? 77 : 1;
    }
}
