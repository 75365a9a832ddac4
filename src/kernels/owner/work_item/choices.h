// SPDX-License-Identifier: Apache-2.0
// The parts of a problem that both owners look up: here they are read from the argument block. They
// matter outside of the loops over K only, where a branch costs nothing, and one module then serves
// many problems: a build takes most of a second.
#pragma once

#include "problem/spec.h"

// Not inlined: CPU compilers would make vector code of each copy of their loops.
#define CALLED static __attribute__((noinline))

#if LANES > 1
// A division takes longer than all else that a row of a tensor without groups of rows needs.
#define GROUP_OF_ROW(t, m) ((t)->row_group == 1 ? (m) : (m) / (t)->row_group)
#endif

// Whether the problem has the tensor t or, instead of it, a host scalar.
#define IS_THERE(t) ((t)->data_type != 0 || (t)->on_host)
#define HAS_SRC_SCALE(p) IS_THERE(&(p)->src_scale)
// Sums are always scaled, by 1 if there are no scales.
#define SCALES_ROWS true
#define SCALES_COLUMNS true
// Whether groups of so many elements of K are the segments.
#define HAS_EQUAL_GROUPS(p, group) (HAS(FLAG_EQUAL_GROUPS) || (group) == (p)->segment)

// Whether the module is for few rows, which have a loop of their own (owner/work_item/few_rows.h).
#define HAS_FEW_ROWS (FEW_ROWS && HAS(FLAG_FEW_ROWS))

// Whether offsets of the weights are added to scaled sums. Else they become zero points.
#define ADDS_OFFSETS (HAS(FLAG_OFFSETS) && (HAS(FLAG_INTEGER) || HAS_FEW_ROWS))

#define HAS_ROW_GROUPS(p) ((p)->grouping == ROW_GROUPS)
#define HAS_K_GROUPS(p) ((p)->grouping == K_GROUPS)

// Whether a segment may be shorter than the others: the last one where ranges of K are segments.
#define MAY_CUT_SEGMENTS true
#define IS_PARTIAL(p) (spec_stage() != STAGE_ADD_RANGES && (p)->k_range < (p)->k)

// Types of what usually changes along K may be constants.
#define TYPE_OF(t, constant) ((constant) == TYPE_IN_BLOCK ? (t)->data_type : (constant))
#define SRC_SCALE_DT(p) TYPE_OF(&(p)->src_scale, spec_src_scale_dt())
#define WEI_SCALE_DT(p) TYPE_OF(&(p)->wei_scale, spec_wei_scale_dt())
#define WEI_ZP_DT(p) TYPE_OF(&(p)->wei_zp, spec_wei_zp_dt())
#define SRC_ZP_DT(p) (p)->src_zp.data_type
