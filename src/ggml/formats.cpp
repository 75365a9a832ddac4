// SPDX-License-Identifier: Apache-2.0
#include "ggml/formats.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>

#include <immintrin.h>

#include "common/half.hpp"

namespace zemm_ggml {

namespace {

constexpr bool yes = true, no = false;
// The values of codes. Those of f4 are doubled.
constexpr const int8_t *none_values = nullptr, *signs_values = nullptr; // signs: of a type that ggml keeps
constexpr int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
constexpr int8_t e2m1_values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// Where a field of a layout is; the bytes of all if there is none of the name.
constexpr int at(std::string_view layout, std::string_view name) {
    int place = 0;
    while (!layout.empty()) {
        const size_t colon = layout.find(':'), end = layout.find(' ', colon);
        if (layout.substr(0, colon) == name)
            return place;
        const std::string_view type = layout.substr(colon + 1, end - colon - 1);
        int count = 0;
        for (const char digit : type.substr(0, type.size() - 2))
            count = 10 * count + digit - '0';
        place += (count ? count : 1) * (type.back() - '0');
        layout = end == std::string_view::npos ? "" : layout.substr(end + 1);
    }
    return place;
}

uint16_t half_at(const uint8_t *bytes) {
    return uint16_t(bytes[0] | bytes[1] << 8);
}

float f16_at(const uint8_t *bytes) {
    return zemm::f16_as_float(half_at(bytes));
}

// A power of two, halved, because values of f4 are kept doubled.
float half_e8m0(uint8_t e) {
    return std::bit_cast<float>(e < 2 ? 0x00200000u << e : uint32_t(e - 1) << 23);
}

// Halved like e8m0. The code of NaN is 0.
float half_ue4m3(uint8_t code) {
    const int exponent = code >> 3 & 15, mantissa = code & 7;
    if (code == 0x7f)
        return 0.f;
    return exponent ? std::ldexp(float(8 + mantissa), exponent - 11) : std::ldexp(float(mantissa), -10);
}

// Readers of a block's parameters. d: where its scale is.

template <int d> void f16(const uint8_t *block, parameters &p) {
    p.scales.f16[0] = half_at(block + d);
}

template <int d> void f16_and_offset(const uint8_t *block, parameters &p) {
    p.scales.f16[0] = half_at(block + d);
    p.offsets.f16[0] = half_at(block + d + 2);
}

template <int d> void mxfp4(const uint8_t *block, parameters &p) {
    p.scales.f32[0] = half_e8m0(block[0]);
}

template <int d> void nvfp4(const uint8_t *block, parameters &p) {
    for (int g = 0; g < 4; ++g)
        p.scales.f32[g] = half_ue4m3(block[g]);
}

template <int d> void q2_k(const uint8_t *block, parameters &p) {
    const float unit = f16_at(block + d), minus = -f16_at(block + d + 2);
    for (int g = 0; g < 16; ++g) {
        p.scales.f32[g] = unit * float(block[g] & 15);
        p.offsets.f32[g] = minus * float(block[g] >> 4);
    }
}

// 16 scales of 6 bits: the low halves are the nibbles of 8 bytes, the high ones those of 2 bits after them.
template <int d> void q3_k(const uint8_t *block, parameters &p) {
    const uint8_t *const bytes = block + d - 12;
    const float unit = f16_at(block + d);
    for (int g = 0; g < 16; ++g) {
        const int low = g < 8 ? bytes[g] & 15 : bytes[g - 8] >> 4, high = bytes[8 + g % 4] >> g / 4 * 2 & 3;
        p.scales.f32[g] = unit * float((low | high << 4) - 32);
    }
}

// Eight scales and minimums of 6 bits. Bytes 0 to 3 have scales 0 to 3, bytes 4 to 7 minimums 0 to 3, in
// their low 6 bits. Their high bits are those of scales and minimums 4 to 7, whose low bits are the nibbles
// of bytes 8 to 11.
template <int d> void q4_k(const uint8_t *block, parameters &p) {
    const uint8_t *const bytes = block + d + 4;
    const float unit = f16_at(block + d), minus = -f16_at(block + d + 2);
    for (int g = 0; g < 4; ++g) {
        p.scales.f32[g] = unit * float(bytes[g] & 63);
        p.offsets.f32[g] = minus * float(bytes[g + 4] & 63);
        p.scales.f32[g + 4] = unit * float((bytes[g + 8] & 15) | bytes[g] >> 6 << 4);
        p.offsets.f32[g + 4] = minus * float(bytes[g + 8] >> 4 | bytes[g + 4] >> 6 << 4);
    }
}

template <int d> void q6_k(const uint8_t *block, parameters &p) {
    const float unit = f16_at(block + d);
    for (int g = 0; g < 16; ++g)
        p.scales.f32[g] = unit * float(int8_t(block[d - 16 + g]));
}

template <int d> void iq4_xs(const uint8_t *block, parameters &p) {
    const float unit = f16_at(block + d);
    const int high = block[2] | block[3] << 8;
    for (int g = 0; g < 8; ++g)
        p.scales.f32[g] =
            unit * float(((block[4 + g / 2] >> g % 2 * 4 & 15) | (high >> 2 * g & 3) << 4) - 32);
}

constexpr format formats[] = {
#define ZEMM_GGUF_BLOCK(name, number, elements, group, type, codes, low_bits, low_run, high_bits, high_run,  \
                        zero, values, parameters, scales, offsets, gain, layout)                             \
    {number,                                                                                                 \
     at(layout, ""),                                                                                         \
     elements,                                                                                               \
     zemm_##codes,                                                                                           \
     group,                                                                                                  \
     {low_bits, low_run, at(layout, "q")},                                                                   \
     {high_bits, high_run, at(layout, "high")},                                                              \
     zero,                                                                                                   \
     values##_values,                                                                                        \
     zemm_##scales,                                                                                          \
     parameters<at(layout, "d")>,                                                                            \
     offsets,                                                                                                \
     gain},
#include "lists/gguf_blocks.def"
};

// The values of fields, one in a byte. They are stored in vectors of 32 bytes, as the next step loads them:
// a load of what several stores have just written would wait for them.
template <fields f, int elements> inline void unpack(const uint8_t *block, uint8_t *to) {
    constexpr int most = (1 << f.bits) - 1, runs = elements * f.bits / 8 / f.run;
    if constexpr (f.bits == 4 && f.run == 16) {
        const __m128i nibbles = _mm_set1_epi8(15);
        for (int r = 0; r < runs; ++r) {
            const __m128i bytes =
                _mm_loadu_si128(reinterpret_cast<const __m128i *>(block + f.at + r * f.run));
            const __m128i low = _mm_and_si128(bytes, nibbles),
                          high = _mm_and_si128(_mm_srli_epi16(bytes, 4), nibbles);
            _mm256_storeu_si256(reinterpret_cast<__m256i *>(to + r * 32), _mm256_set_m128i(high, low));
        }
        return;
    }
    for (int r = 0; r < runs; ++r)
        for (int part = 0; part < 8 / f.bits; ++part)
#pragma GCC unroll 1
            for (int i = 0; i < f.run; ++i)
                to[(r * 8 / f.bits + part) * f.run + i] =
                    uint8_t(block[f.at + r * f.run + i] >> part * f.bits & most);
}

// Five ternary digits in a byte: digit i is the integer part of 3 * (byte * 3^i mod 256) / 256. 32 bytes with
// five digits each, 16 such bytes, and 4 bytes of which four digits count.
void unpack_ternary(const uint8_t *block, uint8_t *to) {
    constexpr uint8_t powers[] = {1, 3, 9, 27, 81};
    const auto digits = [&](int at, int run, int count) {
        for (int digit = 0; digit < count; ++digit)
            for (int i = 0; i < run; ++i)
                *to++ = uint8_t(uint8_t(block[at + i] * powers[digit]) * 3 >> 8);
    };
    digits(0, 32, 5);
    digits(32, 16, 5);
    digits(48, 4, 4);
}

constexpr bool has_table(const format &f) {
    return f.values != nullptr;
}

using bytes_16 = uint8_t __attribute__((vector_size(16)));

// Values of 4 bits become those of the table.
template <int elements> void look_up(const int8_t *table, uint8_t *values) {
    bytes_16 all;
    std::memcpy(&all, table, sizeof all);
    for (int i = 0; i < elements; i += 16) {
        bytes_16 some;
        std::memcpy(&some, values + i, sizeof some);
        some = __builtin_shuffle(all, some);
        std::memcpy(values + i, &some, sizeof some);
    }
}

// Codes of 4 bits, one in a byte, become two in a byte. Other bits of a byte do not count.
template <int elements> void join_pairs(const uint8_t *values, uint8_t *codes) {
    const __m256i nibbles = _mm256_set1_epi8(15), first_and_second = _mm256_set1_epi16(1 | 16 << 8);
    for (int i = 0; i < elements; i += 32) {
        const __m256i some = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(values + i));
        const __m256i words = _mm256_maddubs_epi16(_mm256_and_si256(some, nibbles), first_and_second);
        const __m256i bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(words, words), 0b1000);
        _mm_storeu_si128(reinterpret_cast<__m128i *>(codes + i / 2), _mm256_castsi256_si128(bytes));
    }
}

// The codes of a block of formats[index]. All of the format is constant, so that loops become vectors.
template <size_t index> void read_codes_of(const uint8_t *block, uint8_t *codes) {
    constexpr format f = formats[index];
    uint8_t values[f.elements];
    if constexpr (!f.low.bits)
        unpack_ternary(block, values);
    else
        unpack<f.low, f.elements>(block, values);
    if constexpr (f.high.bits != 0) {
        uint8_t high[f.elements];
        unpack<f.high, f.elements>(block, high);
        for (int i = 0; i < f.elements; ++i)
            values[i] = uint8_t(values[i] | high[i] << f.low.bits);
    }
    if constexpr (has_table(f)) {
        look_up<f.elements>(f.values, values);
    } else {
#pragma GCC unroll 1
        for (int i = 0; i < f.elements; ++i)
            values[i] = uint8_t(values[i] - f.zero);
    }
    if (f.bits() == 8)
        std::memcpy(codes, values, f.elements);
    else
        join_pairs<f.elements>(values, codes);
}

using reader = void (*)(const uint8_t *blocks, int64_t stride, int64_t count, const read_values &);

template <typename T> const T *values_of(const group_values &values) {
    if constexpr (std::is_same_v<T, float>)
        return values.f32;
    else
        return values.f16;
}

template <size_t index>
void read_blocks_of(const uint8_t *blocks, int64_t stride, int64_t count, const read_values &to) {
    constexpr format f = formats[index];
    using type = std::conditional_t<f.scales == zemm_f16, uint16_t, float>;
    for (int64_t i = 0; i < count; ++i)
        read_codes_of<index>(blocks + i * stride, to.codes + i * f.elements * f.bits() / 8);
    auto *scale = static_cast<type *>(to.scales), *offset = static_cast<type *>(to.offsets);
    for (int64_t i = 0; i < count; ++i) {
        parameters p;
        f.read(blocks + i * stride, p);
        for (int g = 0; g < f.groups(); ++g, scale += to.step, offset += to.step) {
            *scale = values_of<type>(p.scales)[g];
            if constexpr (f.has_offsets)
                *offset = values_of<type>(p.offsets)[g];
        }
    }
}

template <size_t... indices>
constexpr std::array<reader, sizeof...(indices)> readers_of(std::index_sequence<indices...>) {
    return {read_blocks_of<indices>...};
}

constexpr auto readers = readers_of(std::make_index_sequence<std::size(formats)>());

} // namespace

const format *find_format(int type) {
    for (const format &f : formats)
        if (f.type == type && f.codes)
            return &f;
    return nullptr;
}

void read_blocks(const format &f, const uint8_t *blocks, int64_t stride, int64_t count,
                 const read_values &to) {
    readers[size_t(&f - formats)](blocks, stride, count, to);
}

} // namespace zemm_ggml
