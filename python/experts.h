/* SPDX-License-Identifier: Apache-2.0 */
/* A mixture of experts as one call of the extension, around two calls of layers (build_ffi.py). */

/* What is between the two products. gates and what they are applied to are the halves of a row, or its even
 * and its odd elements:
 *   activation(min(gate, gate_most)) * (clamp(up, -up_most, up_most) + up_shift)
 * Without gates it is activation(row). */
typedef struct {
    int activation; /* 0: x * sigmoid(alpha * x), 1: gelu by erf, 2: gelu by tanh, 3: relu, 4: relu squared */
    int is_gated;
    int is_interleaved;
    float alpha;
    float gate_most;
    float up_most;
    float up_shift;
} experts_gate;

/* A matrix in the scratchpad: rows of `width` elements, `at` bytes behind its begin. */
typedef struct {
    int type; /* zemm_data_type_t: f32, f16 or bf16 */
    int64_t width;
    size_t at;
} experts_rows;

/* The call for a number of tokens. A row is a token with one of its experts; rows are sorted by expert. */
typedef struct {
    const layer_call *up;
    const layer_call *down;
    int64_t tokens;
    int64_t top_k;
    int64_t nexperts;
    int x_type; /* f32, f16 or bf16; that of gathered if there are up_columns */
    int y_type;
    experts_rows gathered; /* what up multiplies */
    experts_rows products; /* what it gives */
    experts_rows gated;    /* what down multiplies; where the products are if the types are equal */
    experts_rows results;  /* what it gives */
    size_t sizes_at;       /* int64: the rows of each expert */
    size_t places_at;      /* int64: the row of each token and expert */
    size_t spare_at;       /* a row of gated, for down_columns */
    size_t up_scratch_at;
    size_t down_scratch_at;
    experts_gate gate;
} experts_call;

/* The tensors of a call. */
typedef struct {
    const void *x;        /* [tokens, width of gathered] */
    const int64_t *index; /* [tokens, top_k]: the experts of each token */
    const void *weights;  /* [tokens, top_k]: what their results are multiplied by */
    int weights_type;
    const int64_t *up_columns; /* [nexperts, K]: the columns that up multiplies, or NULL: all as they come */
    const int64_t *down_columns; /* the same for down */
    void *y;                     /* [tokens, width of results] */
    char *scratch;
} experts_tensors;

/* Returns -1, and has done nothing, if the index has an expert that is none. */
static int experts_run(const experts_call *call, const experts_tensors *tensors, zemm_stream_t stream);
/* The gate alone: rows of f32. width: of what it gives. */
static void experts_gate_rows(const experts_gate *gate, const float *from, float *to, int64_t rows,
                              int64_t width);
