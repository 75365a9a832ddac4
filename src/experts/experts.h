/* SPDX-License-Identifier: Apache-2.0 */
/* Internal: the steps of a mixture of experts beside its two grouped matmuls, for the Python package. It is
 * not installed, and may change with any version.
 *
 * A row is a token with one of its experts. Rows are sorted by expert. Tensors are dense. */
#ifndef ZEMM_EXPERTS_H
#define ZEMM_EXPERTS_H

#include "zemm/zemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Arguments: index is s64 [tokens, top_k], the experts of each token. routes is s32 [experts + rows]: where
 * the rows of each expert end, then the row of each index. columns is s64 [experts, width], the column of src
 * for each one of dst, if has_columns is set.
 *
 * gather: SRC is [tokens, width], DST [rows, width], SRC_1 index, SRC_2 routes, which it makes, SRC_3
 * columns. If there is no such expert, a matmul refuses the ends of the routes.
 *
 * gate: SRC is [rows, width], twice as wide if is_gated, DST [rows, width]. With columns also the other
 * arguments of gather.
 *
 * combine: SRC is [rows, width], DST [tokens, width], sums of a token's rows, SRC_1 their factors [tokens,
 * top_k], SRC_2 routes.
 *
 * If is_quantised is set, DST of gather and gate is s8, quantised as a reorder would do with the rows in
 * dst_type. ATTR_SCALES | DST: f32 [rows, width / group, rounded up]. ATTR_PRECOMPUTED_REDUCTIONS | DST: s32
 * [rows, width / sums_group, rounded up]. One of group and sums_group divides the other, or has all of a row.
 * gather then takes rows of dst_type, unless it has columns. combine is as before; with the same values it
 * shares a module with the others. */
typedef enum { zemm_experts_gather, zemm_experts_gate, zemm_experts_combine } zemm_experts_step_t;

/* The gate is activation(min(gate, gate_most)) * (clamp(up, -up_most, up_most) + up_shift). gate and up are
 * the halves of a row or, if is_interleaved is set, its even and odd elements. Without is_gated it is
 * activation(row). */
typedef struct {
    zemm_experts_step_t step;
    zemm_dim_t tokens, top_k, experts;
    zemm_dim_t width;                    /* of a row of dst */
    zemm_data_type_t src_type, dst_type; /* f32, f16 or bf16, also of weights */
    zemm_data_type_t weights_type;       /* combine */
    int has_columns;                     /* gather, gate */
    int is_quantised, has_reduced_range; /* to 7 bits */
    zemm_dim_t group, sums_group;        /* elements of a row that share a scale, and a sum */
    int activation;                      /* the number of a ZEMM_GATE of lists/algs.def */
    int is_gated, is_interleaved;
    float alpha, gate_most, up_most, up_shift;
} zemm_experts_t;

zemm_status_t ZEMM_API zemm_experts_primitive_desc_create(zemm_primitive_desc_t *primitive_desc,
                                                          zemm_engine_t engine, const zemm_experts_t *step);

#ifdef __cplusplus
}
#endif

#endif
