/* SPDX-License-Identifier: Apache-2.0 */
/* Internal: attention of one new token over a cache of keys and values, for the Python package. It is not
 * installed, and may change with any version.
 *
 * dst = softmax(scale * q k^T) v. A row without a token that is seen becomes zeros. */
#ifndef ZEMM_ATTENTION_H
#define ZEMM_ATTENTION_H

#include "zemm/zemm.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ZEMM_ATTENTION_WIDTH_STEP 16
#define ZEMM_ATTENTION_MOST_WIDTH 512

/* Arguments: SRC is q, DST dst, both [batch, heads, shared, width] and dense. SRC_1 is k, SRC_2 v, both
 * [batch, heads, tokens, width]. SRC_3 is u8 [batch or 1, tokens], not 0 where a token is seen. */
typedef struct {
    zemm_data_type_t type;                 /* of q, k, v and dst: f32, f16 or bf16 */
    zemm_dim_t batch, heads, shared;       /* shared: heads of q for one of k and v */
    zemm_dim_t tokens, width;              /* width: see above */
    zemm_dim_t k_strides[3], v_strides[3]; /* of elements, for batch, heads and tokens; rows are dense */
    zemm_dim_t masks;                      /* 0: without SRC_3; 1: one for all; batch */
    float scale;
} zemm_attention_t;

zemm_status_t ZEMM_API zemm_attention_primitive_desc_create(zemm_primitive_desc_t *primitive_desc,
                                                            zemm_engine_t engine,
                                                            const zemm_attention_t *attention);

#ifdef __cplusplus
}
#endif

#endif
