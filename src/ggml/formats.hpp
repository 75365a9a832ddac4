// SPDX-License-Identifier: Apache-2.0
// ggml's types of quantised weights, and how a block becomes codes, scales and offsets:
//     w = scale * code + offset
// with a scale (and in some types an offset) for each group of a block. zemm.gguf has the same in Python.
#pragma once

#include <cstdint>

#include <zemm/zemm_types.h>

namespace zemm_ggml {

constexpr int most_elements = 256, most_groups = 16, most_bytes = 256; // of a block

// Fields of `bits` bits that begin `at` bytes into a block. Each run of `run` bytes has the lowest fields of
// all its bytes first, then the next ones. bits 0: the type has no such fields.
struct fields {
    int bits, run, at;
};

// Values of a block, one for each group: f16 where blocks have them as such, else f32.
union group_values {
    uint16_t f16[most_groups];
    float f32[most_groups];
};

// offsets: minimums with the other sign, as zemm adds them.
struct parameters {
    group_values scales, offsets;
};

struct format {
    int type;                // ggml's number
    int bytes, elements;     // of a block
    zemm_data_type_t codes;  // s4, u4, s8 or u8
    int group;               // elements that share a scale
    fields low, high;        // of the codes: high << low.bits | low
    int zero;                // that is subtracted from the codes
    const int8_t *values;    // or the values that 4-bit codes stand for
    zemm_data_type_t scales; // f16 or f32, offsets likewise
    void (*read)(const uint8_t *block, parameters &);
    bool has_offsets; // the type has minimums
    bool is_gain;     // at 512 rows zemm is at least 1.2 times as fast as ggml (docs/ggml.md)

    int groups() const { return elements / group; }
    int bits() const { return codes == zemm_s4 || codes == zemm_u4 ? 4 : 8; }
};

// The format of ggml's type, or null.
const format *find_format(int type);

// Where the values of a row's blocks go. codes: as zemm keeps them, of each block `elements` bytes, or half
// as many with two codes each. scales, offsets: of the format's type, those of groups `step` values apart.
struct read_values {
    uint8_t *codes;
    void *scales, *offsets;
    int64_t step;
};

// Reads `count` blocks that begin `stride` bytes apart.
void read_blocks(const format &, const uint8_t *blocks, int64_t stride, int64_t count, const read_values &);

} // namespace zemm_ggml
