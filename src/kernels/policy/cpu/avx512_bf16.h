// SPDX-License-Identifier: Apache-2.0
// bf16 by bf16 or by integers with vdpbf16ps on 512 bits (AVX512_BF16), which adds the products of two
// elements of K and takes denormals as 0; f32 becomes bf16, where the fpmath mode allows that. Weights
// become a panel of words.
#pragma once

#include "owner/work_item.h"

#define WITH_TABLES
#define CAN_LOOK_UP true // CPUs with the feature have AVX512_VBMI, too (src/cpu_driver/device/isa.cpp)

#include "policy/cpu/bf16.h"
#include "policy/cpu/next_block.h"
#include "policy/cpu/words.h"
#include "policy/shared/all_columns.h"
#include "policy/shared/no_ahead.h"

#if LANES != 16 || TILE_N != PACKED_N || TILE_K % STEP != 0
#error "whole steps, and the 64 columns of packed weights in vectors of 512 bits"
#endif

#define ANY_ROW_COUNT 1
#define PREFETCHES_DST 1
#define SUM_FACTOR 1.f
#define WEI_SHIFT 0

// Packed bf16 become words in few instructions, and the panel may be in the L2 cache: longer blocks load and
// store sums less often. Others keep the panel of TILE_K elements in the L1 cache.
#define LONGEST_BLOCK 512
#define POLICY_BLOCK_K (copies_packed() ? LONGEST_BLOCK : TILE_K)
#define PANEL_VECTORS (LONGEST_BLOCK / 2 * NV)
typedef vec_i panel_vec;

vec_f __attribute__((overloadable))
vdpbf16ps(vec_f sum, vec_i a, vec_i b) __asm("llvm.x86.avx512bf16.dpbf16ps.512");

// Whether packed weights of 8 and 4 bits, which are used only once here, become words in registers.
static inline bool wei_in_registers() {
    return HAS(FLAG_ONE_GROUP) && spec_wei_unit() == UNIT_PACKED && wei_in_tables();
}

// Whether packed bf16 are copied into words. The loop over words prefetches the next block of them.
static inline bool copies_packed() {
    return spec_wei_unit() == UNIT_PACKED && spec_wei_dt() == DT_BF16;
}

// The weights of a block: words, as load_words() leaves them, or packed ones in memory.
struct b_panel {
    __private const vec_i *panel;
    bytes wei;
    tensor plain;
    long first; // the element at which the block begins
};

static inline struct b_panel load_b(const struct wei_source *w, global const struct matmul_problem *p,
                                    long k0, int length, __private const column_i *wei_zp,
                                    __private panel_vec *panel) {
    if (!wei_in_registers())
        load_words(w, p, k0, length, wei_zp, panel);
    return (struct b_panel){panel, w->wei, &p->wei, block_begin(w, p, k0)};
}

static inline void prefetch_a(bytes src, __private const long *rows, int count, long k0, int length) {}
static inline void prefetch_b(struct b_panel b, int length, int part, int parts) {
    if (!wei_in_registers() && !copies_packed())
        prefetch_next_block(b.wei, b.plain, b.first, TILE_N, length, part, parts, false);
}
static inline void add_wei_sums(struct b_panel b, int length, __private column_i *sum) {}

// A row of src from element i on as bf16, with zeros up to a whole step.
static __attribute__((noinline)) void copy_row(bytes src, long i, int length, __private int *to) {
#pragma unroll 1
    for (int k = 0; k < length; k += STEP)
        copy_src_row((__private uchar *)(to + k / 2), src, i + k, min(STEP, length - k));
}

// Adds the products of `count` rows of words and packed weights.
static inline __attribute__((always_inline)) void multiply_quads(const int count, __private const ulong *row,
                                                                 struct b_panel b, int length,
                                                                 __private vec_f *sum) {
#pragma unroll 1
    for (int k = 0; k < length; k += 4) {
        // The block after this one follows in memory.
#pragma unroll
        for (int i = 0; i < 4 * PACKED_N * wei_bits() / 8; i += 64)
            prefetch_line(b.wei + (b.first + (length + k) * PACKED_N) * wei_bits() / 8 + i);
#pragma unroll
        for (int v = 0; v < NV; ++v) {
            vec_i wei[2];
            look_up_quads(b.wei, b.first + k * PACKED_N + v * LANES * 4, length - k, wei);
#pragma unroll
            for (int i = 0; i < count; ++i) {
                __private const int *words = (__private const int *)row[i] + k / 2;
                sum[i * NV + v] = vdpbf16ps(sum[i * NV + v], (vec_i)words[0], wei[0]);
                sum[i * NV + v] = vdpbf16ps(sum[i * NV + v], (vec_i)words[1], wei[1]);
            }
        }
    }
}

// sum[i * NV + v] += row i of the group times column vector v of the panel.
static inline __attribute__((always_inline)) void multiply(const int count, int first,
                                                           __private const struct a_group *group, int length,
                                                           struct b_panel b, __private vec_i *unused,
                                                           __private vec_f *sum) {
    int copy[ROWS * LONGEST_BLOCK / 2];
    ulong row[ROWS]; // addresses: to x86 private and global memory are the same
    const bool in_place = src_in_place() && length % (wei_in_registers() ? 4 : 2) == 0;
    __private const long *rows = group->rows->src + group->i0;
#pragma unroll 1
    for (int i = 0; i < (in_place ? 0 : count); ++i)
        copy_row(group->src, rows[i] + group->k0, length, copy + i * LONGEST_BLOCK / 2);
#pragma unroll
    for (int i = 0; i < count; ++i)
        row[i] =
            in_place ? (ulong)group->src + (rows[i] + group->k0) * 2 : (ulong)(copy + i * LONGEST_BLOCK / 2);
    if (wei_in_registers()) {
        multiply_quads(count, row, b, length, sum);
        return;
    }
    // The part of the next block that the group prefetches.
    bytes next = b.wei + 2 * (b.first + length * PACKED_N) +
                 64 * (group->i0 * length / group->rows->count * (PACKED_N / 32));
#pragma unroll 1
    for (int k = 0; k < (length + 1) / 2; ++k) {
        if (copies_packed())
            prefetch_line_l2(next + 64 * k);
        vec_i wei[NV];
#pragma unroll
        for (int v = 0; v < NV; ++v)
            wei[v] = b.panel[k * NV + v];
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const int word = ((__private const int *)row[i])[k];
#pragma unroll
            for (int v = 0; v < NV; ++v)
                sum[i * NV + v] = vdpbf16ps(sum[i * NV + v], (vec_i)word, wei[v]);
        }
    }
}
