// SPDX-License-Identifier: Apache-2.0
#include "ggml/formats.hpp"

#include <cmath>
#include <cstring>

namespace zemm_ggml {

namespace {

constexpr int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
constexpr int8_t doubled_e2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

float float_of(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

uint16_t half_at(const uint8_t *bytes) {
    return uint16_t(bytes[0] | bytes[1] << 8);
}

// Multiplying by 2^112 moves the exponent, and makes denormals normal.
float f16_at(const uint8_t *bytes) {
    const uint32_t half = half_at(bytes), magnitude = (half & 0x7fff) << 13;
    uint32_t bits;
    const float finite = float_of(magnitude) * 0x1p112f;
    std::memcpy(&bits, &finite, sizeof bits);
    return float_of((magnitude >= 0x0f800000 ? magnitude | 0x7f800000 : bits) | (half & 0x8000) << 16);
}

// A power of two, halved, because values of f4 are kept doubled.
float half_e8m0(uint8_t e) {
    return float_of(e < 2 ? 0x00200000u << e : uint32_t(e - 1) << 23);
}

// Likewise. ggml takes the code of NaN as 0.
float half_ue4m3(uint8_t code) {
    const int exponent = code >> 3 & 15, mantissa = code & 7;
    if (code == 0x7f)
        return 0.f;
    return exponent ? std::ldexp(float(8 + mantissa), exponent - 11) : std::ldexp(float(mantissa), -10);
}

template <int at> void one_f16(const uint8_t *block, parameters &p) {
    p.scales.f16[0] = half_at(block + at);
}

void f16_and_offset(const uint8_t *block, parameters &p) {
    p.scales.f16[0] = half_at(block);
    p.offsets.f16[0] = half_at(block + 2);
}

void mxfp4(const uint8_t *block, parameters &p) {
    p.scales.f32[0] = half_e8m0(block[0]);
}

void nvfp4(const uint8_t *block, parameters &p) {
    for (int g = 0; g < 4; ++g)
        p.scales.f32[g] = half_ue4m3(block[g]);
}

void q2_k(const uint8_t *block, parameters &p) {
    const float d = f16_at(block + 80), minus = -f16_at(block + 82);
    for (int g = 0; g < 16; ++g) {
        p.scales.f32[g] = d * float(block[g] & 15);
        p.offsets.f32[g] = minus * float(block[g] >> 4);
    }
}

// 16 scales of 6 bits: the low halves are the nibbles of 8 bytes, the high ones those of 2 bits after them.
void q3_k(const uint8_t *block, parameters &p) {
    const uint8_t *const bytes = block + 96;
    const float d = f16_at(block + 108);
    for (int g = 0; g < 16; ++g) {
        const int low = g < 8 ? bytes[g] & 15 : bytes[g - 8] >> 4, high = bytes[8 + g % 4] >> g / 4 * 2 & 3;
        p.scales.f32[g] = d * float((low | high << 4) - 32);
    }
}

// Eight scales and minimums of 6 bits. Bytes 0 to 3 have scales 0 to 3, bytes 4 to 7 minimums 0 to 3, in
// their low 6 bits. Their high bits are those of scales and minimums 4 to 7, whose low bits are the nibbles
// of bytes 8 to 11.
void q4_k(const uint8_t *block, parameters &p) {
    const uint8_t *const bytes = block + 4;
    const float d = f16_at(block), minus = -f16_at(block + 2);
    for (int g = 0; g < 4; ++g) {
        p.scales.f32[g] = d * float(bytes[g] & 63);
        p.offsets.f32[g] = minus * float(bytes[g + 4] & 63);
        p.scales.f32[g + 4] = d * float((bytes[g + 8] & 15) | bytes[g] >> 6 << 4);
        p.offsets.f32[g + 4] = minus * float(bytes[g + 8] >> 4 | bytes[g + 4] >> 6 << 4);
    }
}

void q6_k(const uint8_t *block, parameters &p) {
    const float d = f16_at(block + 208);
    for (int g = 0; g < 16; ++g)
        p.scales.f32[g] = d * float(int8_t(block[192 + g]));
}

void iq4_xs(const uint8_t *block, parameters &p) {
    const float d = f16_at(block);
    const int high = block[2] | block[3] << 8;
    for (int g = 0; g < 8; ++g)
        p.scales.f32[g] = d * float(((block[4 + g / 2] >> g % 2 * 4 & 15) | (high >> 2 * g & 3) << 4) - 32);
}

enum { tq1_0 = 34 };
constexpr fields none{0, 1, 0};

// type, bytes, elements, codes, group, low fields, high fields, zero, values, scales, read, offsets, gain
constexpr format formats[] = {
    {2, 18, 32, zemm_s4, 32, {4, 16, 2}, none, 8, nullptr, zemm_f16, one_f16<0>, false, true},         // Q4_0
    {3, 20, 32, zemm_u4, 32, {4, 16, 4}, none, 0, nullptr, zemm_f16, f16_and_offset, true, true},      // Q4_1
    {6, 22, 32, zemm_s8, 32, {4, 16, 6}, {1, 1, 2}, 16, nullptr, zemm_f16, one_f16<0>, false, true},   // Q5_0
    {7, 24, 32, zemm_u8, 32, {4, 16, 8}, {1, 1, 4}, 0, nullptr, zemm_f16, f16_and_offset, true, true}, // Q5_1
    {8, 34, 32, zemm_s8, 32, {8, 32, 2}, none, 0, nullptr, zemm_f16, one_f16<0>, false, true},         // Q8_0
    {10, 84, 256, zemm_u4, 16, {2, 32, 16}, none, 0, nullptr, zemm_f32, q2_k, true, true},             // Q2_K
    {11, 110, 256, zemm_s4, 16, {2, 32, 32}, {1, 32, 0}, 4, nullptr, zemm_f32, q3_k, false, false},    // Q3_K
    {12, 144, 256, zemm_u4, 32, {4, 32, 16}, none, 0, nullptr, zemm_f32, q4_k, true, true},            // Q4_K
    {13, 176, 256, zemm_u8, 32, {4, 32, 48}, {1, 32, 16}, 0, nullptr, zemm_f32, q4_k, true, false},    // Q5_K
    {14, 210, 256, zemm_s8, 16, {4, 64, 0}, {2, 32, 128}, 32, nullptr, zemm_f32, q6_k, false, false},  // Q6_K
    {20, 18, 32, zemm_s8, 32, {4, 16, 2}, none, 0, iq4_values, zemm_f16, one_f16<0>, false, true}, // IQ4_NL
    {23, 136, 256, zemm_s8, 32, {4, 16, 8}, none, 0, iq4_values, zemm_f32, iq4_xs, false, false},  // IQ4_XS
    {tq1_0, 54, 256, zemm_s4, 256, none, none, 1, nullptr, zemm_f16, one_f16<52>, false, true},    // TQ1_0
    {35, 66, 256, zemm_s4, 256, {2, 32, 0}, none, 1, nullptr, zemm_f16, one_f16<64>, false, true}, // TQ2_0
    {39, 17, 32, zemm_s8, 32, {4, 16, 1}, none, 0, doubled_e2m1, zemm_f32, mxfp4, false, true},    // MXFP4
    {40, 36, 64, zemm_s8, 16, {4, 8, 4}, none, 0, doubled_e2m1, zemm_f32, nvfp4, false, true},     // NVFP4
    {42, 18, 64, zemm_s4, 64, {2, 1, 2}, none, 1, nullptr, zemm_f16, one_f16<0>, false, true},     // Q2_0
};

void unpack(const fields &f, int elements, const uint8_t *block, uint8_t *to) {
    const int most = (1 << f.bits) - 1, runs = elements * f.bits / 8 / f.run;
    const uint8_t *from = block + f.at;
    for (int r = 0; r < runs; ++r, from += f.run)
        for (int shift = 0; shift < 8; shift += f.bits, to += f.run)
            for (int i = 0; i < f.run; ++i)
                to[i] = uint8_t(from[i] >> shift & most);
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

void unpack_codes(const format &f, const uint8_t *block, uint8_t *to) {
    if (f.type == tq1_0) {
        unpack_ternary(block, to);
        return;
    }
    unpack(f.low, f.elements, block, to);
    if (!f.high.bits)
        return;
    uint8_t high[most_elements];
    unpack(f.high, f.elements, block, high);
    for (int i = 0; i < f.elements; ++i)
        to[i] = uint8_t(to[i] | high[i] << f.low.bits);
}

void pack(const fields &f, int elements, int shift, const uint8_t *from, uint8_t *block) {
    const int most = (1 << f.bits) - 1, runs = elements * f.bits / 8 / f.run;
    uint8_t *to = block + f.at;
    for (int r = 0; r < runs; ++r, to += f.run) {
        std::memset(to, 0, size_t(f.run));
        for (int bit = 0; bit < 8; bit += f.bits, from += f.run)
            for (int i = 0; i < f.run; ++i)
                to[i] = uint8_t(to[i] | (from[i] >> shift & most) << bit);
    }
}

uint8_t code_of(const format &f, uint8_t value) {
    for (uint8_t code = 0; code < 16; ++code)
        if (uint8_t(f.values[code]) == value)
            return code;
    return 0;
}

} // namespace

const format *find_format(int type) {
    for (const format &f : formats)
        if (f.type == type)
            return &f;
    return nullptr;
}

void read_codes(const format &f, const uint8_t *block, uint8_t *codes) {
    uint8_t values[most_elements];
    unpack_codes(f, block, values);
    if (f.values)
        for (int i = 0; i < f.elements; ++i)
            values[i] = uint8_t(f.values[values[i]]);
    else if (f.zero)
        for (int i = 0; i < f.elements; ++i)
            values[i] = uint8_t(values[i] - f.zero);
    if (f.bits() == 8) {
        std::memcpy(codes, values, size_t(f.elements));
        return;
    }
    for (int i = 0; i < f.elements / 2; ++i)
        codes[i] = uint8_t((values[2 * i] & 15) | values[2 * i + 1] << 4);
}

bool can_write_codes(const format &f) {
    return f.low.bits && f.values != doubled_e2m1;
}

void write_codes(const format &f, const uint8_t *codes, uint8_t *block) {
    uint8_t values[most_elements];
    for (int i = 0; i < f.elements; ++i) {
        const uint8_t value = f.bits() == 8 ? codes[i] : uint8_t(codes[i / 2] >> i % 2 * 4 & 15);
        const int width = f.low.bits + f.high.bits;
        values[i] = f.values ? code_of(f, value) : uint8_t((value + f.zero) & ((1 << width) - 1));
    }
    pack(f.low, f.elements, 0, values, block);
    if (f.high.bits)
        pack(f.high, f.elements, f.low.bits, values, block);
}

} // namespace zemm_ggml
