// SPDX-License-Identifier: Apache-2.0
// Loads rows of src and weights as f32, for xe_fma.h. src and packed weights are read by 1-D block
// loads (cl_intel_subgroups); what these cannot read, element by element. Elements behind K are 0.
#pragma once

#include "owner/sub_group.h"
#include "policy/xe/xe.h"
#include "problem/tensor.h"

#define PARTS (TILE_K / LANES) // parts of a block of K, each with one element a lane
#if TILE_N != 2 * LANES || PARTS < 1 || PARTS > 2
#error "block loads are for two columns, and one or two of K, a lane"
#endif

uint __attribute__((overloadable)) intel_sub_group_block_read(const global uint *at);
uint2 __attribute__((overloadable)) intel_sub_group_block_read2(const global uint *at);
ushort __attribute__((overloadable)) intel_sub_group_block_read_us(const global ushort *at);
ushort2 __attribute__((overloadable)) intel_sub_group_block_read_us2(const global ushort *at);

// Loads 2 * LANES contiguous elements of a float type: each lane gets, as f32, the elements
// lane and LANES + lane.
KNOWS(FLOATS, BIT_F32 | BIT_F16 | BIT_BF16);
static inline float2 read_two(bytes at, int data_type) {
    if (data_type == DT_F32)
        return as_float2(intel_sub_group_block_read2((global const uint *)at));
    const ushort2 bits = intel_sub_group_block_read_us2((global const ushort *)at);
    return data_type == DT_F16 ? convert_float2(as_half2(bits)) : as_float2(convert_uint2(bits) << 16);
}

// This lane's elements of a block of a row of src, one of each part.
static inline float2 read_row(bytes at) {
#if PARTS == 2
    return read_two(at, spec_src_dt());
#else
    if (spec_src_dt() == DT_F32)
        return (float2)(as_float(intel_sub_group_block_read((global const uint *)at)), 0.f);
    const ushort bits = intel_sub_group_block_read_us((global const ushort *)at);
    return (float2)(spec_src_dt() == DT_F16 ? convert_float(as_half(bits)) : as_float((uint)bits << 16), 0.f);
#endif
}

// Gathers at most `count` elements of any stride; elements behind them are 0.
static inline float2 gather_row(bytes at, int count, long stride) {
    const int lane = get_sub_group_local_id();
    float part[2] = {0.f, 0.f};
#pragma unroll
    for (int i = 0; i < PARTS; ++i)
        if (lane + i * LANES < count)
            part[i] = load_float(at, spec_src_dt(), (lane + i * LANES) * stride);
    return vload2(0, part);
}

// a[part]: elements k0 + part * LANES + lane of rows i0 .. i0 + 7 of the tile.
static inline void load_a(bytes src, global const struct matmul_problem *p,
                          __private const struct tile_rows *rows, int i0, long k0, __private float8 *a) {
    const long stride = spec_src_load() == SRC_LOAD_1D ? 1 : p->src.column;
    const int left = HAS(FLAG_PANEL_TAIL) ? (int)(p->k - k0) : TILE_K;
    float2 r[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) { // block loads need the same address in all lanes
        bytes at =
            src + sub_group_broadcast(rows->at[i0 / LANES], i0 % LANES + i) + k0 * stride * src_bytes();
        r[i] = spec_src_load() == SRC_LOAD_1D && left >= TILE_K ? read_row(at) : gather_row(at, left, stride);
    }
    a[0] = (float8)(r[0].x, r[1].x, r[2].x, r[3].x, r[4].x, r[5].x, r[6].x, r[7].x);
#if PARTS == 2
    a[1] = (float8)(r[0].y, r[1].y, r[2].y, r[3].y, r[4].y, r[5].y, r[6].y, r[7].y);
#endif
}

// The weights of a tile.
struct wei_source {
    bytes wei, panel;   // panel: the tile's columns in their packed panel
    long first, second; // element offsets of this lane's two columns
};

// n0: this lane's first column. Columns past the end repeat the last one.
static inline struct wei_source open_wei(bytes wei, global const struct matmul_problem *p, long begin,
                                         long n0, int columns) {
    struct wei_source w;
    w.wei = wei;
    w.first = begin + min(n0, p->n - 1) * p->wei.column;
    w.second = begin + min(n0 + LANES, p->n - 1) * p->wei.column;
    const long n = sub_group_broadcast(n0, 0);
    const long panel = begin + n / PACKED_N * p->wei_panel + n % PACKED_N * packed_row_length();
    w.panel = wei + sub_group_broadcast(panel * wei_bits() / 8, 0);
    return w;
}

// The chain ends with the only float of 4 bits; another one would have no macro.
#define LAST_OF_4_F4_E2M1
#define FROM_8(name, NAME) spec_wei_dt() == DT_##NAME ? from_##name(code):
#define FROM_4(name, NAME) LAST_OF_4_##NAME
#define FROM_16(...)
#define FROM_32(...)
static inline float from_code(uint code) {
    return
#define ZEMM_FLOAT_TYPE(name, NAME, number, bits, ...) FROM_##bits(name, NAME)
#define ZEMM_EXPONENT_TYPE(...)
#include "lists/types.def"
        from_f4_e2m1(code);
}

// Converts four elements of K of a column to f32.
static inline float4 widen(uint four) {
    if (wei_is_small_float()) {
        const uint bits = wei_bits(), mask = (1 << bits) - 1;
        return (float4)(from_code(four & mask), from_code(four >> bits & mask),
                        from_code(four >> 2 * bits & mask), from_code(four >> 3 * bits & mask));
    }
    if (wei_is_nibbles()) {
        const int4 top = (int4)((int)four) << (int4)(28, 24, 20, 16);
        return spec_wei_dt() == DT_S4 ? convert_float4(top >> 28)
                                      : convert_float4(as_uint4(top) >> (uint4)28);
    }
    return spec_wei_dt() == DT_S8 ? convert_float4(as_char4(four)) : convert_float4(as_uchar4(four));
}

// A row of a packed panel, of this lane's two columns: four elements of K of each.
static inline uint2 read_fours(bytes row) {
    if (wei_bits() == 2) {
        const uint lane = get_sub_group_local_id();
        global const uint *ints = (global const uint *)row + lane / 4;
        return (uint2)(bytes_of_quarters(ints[0], lane), bytes_of_quarters(ints[LANES / 4], lane));
    }
    return wei_bits() == 4 ? convert_uint2(intel_sub_group_block_read_us2((global const ushort *)row))
                           : intel_sub_group_block_read2((global const uint *)row);
}

// Packed weights are padded to whole blocks. Elements behind K are multiplied with zeros of src.
// Floats may be NaN there, so they are set to 0.
static inline void read_packed(const struct wei_source *w, global const struct matmul_problem *p, int k0,
                               __private float *panel) {
    if (wei_bits() > 8) {
        const int row = PACKED_N * wei_bits() / 8;
#pragma unroll
        for (int k = 0; k < TILE_K; ++k) {
            const float2 two = read_two(w->panel + (long)(k0 + k) * row, spec_wei_dt());
            vstore2(!HAS(FLAG_PANEL_TAIL) || k0 + k < p->k ? two : (float2)0.f, k, panel);
        }
        return;
    }
#pragma unroll
    for (int k = 0; k < TILE_K; k += 4) {
        bytes at = w->panel + (long)(k0 + k) * PACKED_N * wei_bits() / 8;
        uint2 fours = read_fours(at);
        if (HAS(FLAG_PANEL_TAIL) && wei_is_small_float())
            fours &= lowest_bits(clamp((int)(p->k - k0) - k, 0, 4) * wei_bits());
        const float4 x = widen(fours.x), y = widen(fours.y);
        panel[k * NV] = x.s0;
        panel[k * NV + 1] = y.s0;
        panel[k * NV + 2] = x.s1;
        panel[k * NV + 3] = y.s1;
        panel[k * NV + 4] = x.s2;
        panel[k * NV + 5] = y.s2;
        panel[k * NV + 6] = x.s3;
        panel[k * NV + 7] = y.s3;
    }
}

// Loads eight elements of K of a column with any strides.
static __attribute__((noinline)) float8 gather_column(bytes wei, global const struct matmul_problem *p,
                                                      long column, int k) {
    float values[8];
#pragma unroll 1
    for (int i = 0; i < 8; ++i)
        values[i] = k + i < p->k ? load_float(wei, spec_wei_dt(), column + (k + i) * p->wei.row) : 0.f;
    return vload8(0, values);
}

static inline void gather_columns(const struct wei_source *w, global const struct matmul_problem *p, int k0,
                                  __private float *panel) {
#pragma unroll
    for (int v = 0; v < NV; ++v)
#pragma unroll
        for (int k = 0; k < TILE_K; k += 8) {
            const float8 x = gather_column(w->wei, p, v == 0 ? w->first : w->second, k0 + k);
#pragma unroll
            for (int i = 0; i < 8; ++i)
                panel[(k + i) * NV + v] = ((__private const float *)&x)[i];
        }
}

#include "policy/shared/no_ahead.h"
