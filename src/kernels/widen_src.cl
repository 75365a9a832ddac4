// SPDX-License-Identifier: Apache-2.0
// Converts a src of 8-bit and 4-bit floats to the type that a row of kernels.def multiplies: once, where
// the tiles would convert it again for each 64 columns. The result is dense, rows of K.
#include "data_type.h"
#include "policy/f8_halves.h"
#include "spec.h"
#include "widen_args.h"

// Values of 8 and 4 bits are exact in bf16: nothing is rounded.
static inline void store_wide16(global uchar *wide, long i, float16 x) {
    if (spec_dst_dt() == DT_BF16)
        vstore16(convert_ushort16(as_uint16(x) >> 16), 0, (global ushort *)wide + i);
    else
        store_float16(wide, spec_dst_dt(), i, x);
}

// Grid: pieces of K; rows, counted over (batch.., m).
__attribute__((reqd_work_group_size(1, 1, 1))) kernel void widen_src(bytes src, global uchar *wide,
                                                                     global const struct widen_problem *p) {
    long row = get_global_id(1), from = p->offset0;
    const long to = row * p->k;
    for (int d = p->ndims - 1; d >= 0; --d) {
        from += row % p->dims[d] * p->strides[d];
        row /= p->dims[d];
    }
    long k = get_global_id(0) * p->piece;
    const long end = min(k + p->piece, p->k);
    if (p->column == 1 && is_whole_byte(spec_src_dt(), from + k))
        for (; k + 16 <= end; k += 16)
            store_wide16(wide, to + k, load_wide16(src, spec_src_dt(), from + k));
    for (; k < end; ++k)
        store_float(wide, spec_dst_dt(), to + k, load_float(src, spec_src_dt(), from + k * p->column));
}
