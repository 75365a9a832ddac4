// SPDX-License-Identifier: Apache-2.0
// Copies src for a row of kernels.def: in the type that the row multiplies, with rows of K that begin where
// the row reads them fast. It does so once, where the tiles would convert src again for each 64 columns. f16
// becomes sums of two bf16: a row has the first ones, then the second ones.
#include "args/src_copy_args.h"
#include "arithmetic/data_type.h"
#include "arithmetic/halves.h"
#include "problem/spec.h"

static inline bool is_split() {
    return spec_src_dt() == DT_F16 && spec_dst_dt() == DT_BF16;
}

// part: elements from the first parts of a row to the second ones.
static inline void store_wide16(global uchar *wide, long i, long part, float16 x) {
    if (is_split()) {
        vstore16(convert_ushort16(as_uint16(first_part(x)) >> 16), 0, (global ushort *)wide + i);
        vstore16(convert_ushort16(as_uint16(second_part(x)) >> 16), 0, (global ushort *)wide + i + part);
    } else if (spec_dst_dt() == DT_BF16)
        vstore16(convert_ushort16(bf16_bits(x)), 0, (global ushort *)wide + i);
    else
        store_float16(wide, spec_dst_dt(), i, x);
}

static inline void store_wide(global uchar *wide, long i, long part, float x) {
    if (is_split()) {
        ((global ushort *)wide)[i] = (ushort)(as_uint16(first_part((float16)x)).s0 >> 16);
        ((global ushort *)wide)[i + part] = (ushort)(as_uint16(second_part((float16)x)).s0 >> 16);
    } else if (spec_dst_dt() == DT_BF16)
        ((global ushort *)wide)[i] = (ushort)bf16_bits((float16)x).s0;
    else
        store_float(wide, spec_dst_dt(), i, x);
}

// Grid: pieces of K; rows, counted over (batch.., m).
__attribute__((reqd_work_group_size(1, 1, 1))) kernel void widen_src(bytes src, global uchar *wide,
                                                                     global const struct widen_problem *p) {
    long row = get_global_id(1), from = p->offset0;
    const long to = row * p->wide_row, part = p->wide_row / 2;
    for (int d = p->ndims - 1; d >= 0; --d) {
        from += row % p->dims[d] * p->strides[d];
        row /= p->dims[d];
    }
    long k = get_global_id(0) * p->piece;
    const long end = min(k + p->piece, p->k);
    const int bytes_each = type_bits(spec_src_dt()) / 8, line = 64 / max(bytes_each, 1);
    if (p->column == 1 && spec_src_dt() == spec_dst_dt())
        for (; k + line <= end; k += line)
            vstore16(vload16(0, (global const int *)(src + (from + k) * bytes_each)), 0,
                     (global int *)(wide + (to + k) * bytes_each));
    else if (p->column == 1 && is_whole_byte(spec_src_dt(), from + k))
        for (; k + 16 <= end; k += 16)
            store_wide16(wide, to + k, part, load_wide16(src, spec_src_dt(), from + k));
    for (; k < end; ++k)
        store_wide(wide, to + k, part, load_float(src, spec_src_dt(), from + k * p->column));
}
