// SPDX-License-Identifier: Apache-2.0
// How the sum of a segment of K is scaled and added to the results, where these stay in registers.
#pragma once

#include "owner/work_item/rows.h"

// The zero-point term of the weights, if that is s32: it is subtracted from the sum.
static inline vec_i subtrahend(column_i zp, int correction) {
    if (!HAS(FLAG_REDUCTIONS) || spec_zp_term() == ZP_TERM_F32)
        return (vec_i)0;
    return zero_point_term(zp, (vec_i)correction);
}

// Whether sums of floats need the term of offsets, too.
#define ADDS_FLOAT_TERM (ADDS_OFFSETS && !HAS(FLAG_INTEGER))

// A vector of results plus a scaled sum. correction: with ZP_TERM_F32, and with floats, the bits of f32.
static inline vec_f add_scaled(vec_f result, vec_f sum, column_i wei_zp, column_f wei_scale, int correction,
                               float src_scale) {
    if (ADDS_OFFSETS)
        sum *= wei_scale;
    if (ADDS_FLOAT_TERM || (!TERMS_ARE_WORDS && spec_zp_term() == ZP_TERM_F32)) {
        const vec_f zp = float_zero_points(wei_zp), c = (vec_f)as_float(correction);
        // A float zero point's term is not exact: it must not be rounded on its own.
        sum = HAS(FLAG_FLOAT_ZP) ? fma(-zp, c, sum) : sum - zp * c;
    }
    if (!HAS(FLAG_SRC_SCALE_K))
        return ADDS_OFFSETS ? result + sum : fma(sum, wei_scale, result);
    if (HAS(FLAG_WEI_SCALE_K) && !ADDS_OFFSETS)
        sum *= wei_scale;
    return fma(sum, (vec_f)src_scale, result);
}
