/* SPDX-License-Identifier: Apache-2.0 */
/* A linear layer, y = x * w, with f32 activations and quantised weights.
 *
 *     cc linear.c $(pkg-config --cflags --libs zemm) -o linear && ./linear
 *
 * The weights are quantised to u8 or u4 and packed once. The activations are quantised on the device
 * at each call: s8 values, with a scale and a sum for each group of K. The sums are the precomputed
 * reductions of the matmul, so that the zero points of the weights cost nothing in its K loop. The
 * number of rows is a runtime dimension: one primitive serves all. A plain loop checks the results. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <zemm/zemm.h>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        if ((call) != zemm_success) {                                                                        \
            fprintf(stderr, "%s: %s\n", #call, zemm_last_error());                                           \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

enum { K = 512, N = 192, GROUP = 64, GROUPS = K / GROUP, MOST_ROWS = 33, EVERY = 3 };

static zemm_engine_t engine;
static zemm_stream_t stream;

/* Quantised activations: x[m][k] ~ scales[m][g] * values[m][k], and the sums of the values. The device
 * writes them. */
static struct {
    int8_t values[MOST_ROWS][K];
    float scales[MOST_ROWS][GROUPS];
    int32_t sums[MOST_ROWS][GROUPS];
} quantized;

/* Weights w[k][n] = scales[g][n] * (codes[k][n] - zero_points[g][n]), with g = k / GROUP. */
struct weights {
    int bits;
    uint8_t codes[K][N];
    float scales[GROUPS][N];
    uint8_t zero_points[GROUPS][N];
};

/* The objects that every call uses: primitives, and memories that stay the same. */
struct layer {
    zemm_primitive_t quantize, matmul;
    zemm_memory_t weights, scales, zero_points;
};

/* A row-major tensor. */
static zemm_memory_desc_t matrix(zemm_dim_t rows, zemm_dim_t columns, zemm_data_type_t type) {
    zemm_memory_desc_t md;
    zemm_dims_t dims = {0};
    dims[0] = rows;
    dims[1] = columns;
    CHECK(zemm_memory_desc_create_with_tag(&md, 2, dims, type, zemm_ab));
    return md;
}

/* A memory on host memory, which the CPU device uses without a copy. (A GPU has its own: create the
 * memory with ZEMM_MEMORY_ALLOCATE, and copy with zemm_memory_map_data().) Takes md. */
static zemm_memory_t memory(zemm_memory_desc_t md, void *data) {
    zemm_memory_t made;
    CHECK(zemm_memory_create(&made, md, engine, data));
    CHECK(zemm_memory_desc_destroy(md));
    return made;
}

/* Quantises w[K][N] so that the codes span each group's range, extended to include 0. */
static void quantize_weights(float (*w)[N], int bits, struct weights *q) {
    const float top = (float)((1 << bits) - 1);
    q->bits = bits;
    for (int g = 0; g < GROUPS; g++)
        for (int n = 0; n < N; n++) {
            float low = 0.f, high = 0.f;
            for (int k = g * GROUP; k < (g + 1) * GROUP; k++) {
                low = w[k][n] < low ? w[k][n] : low;
                high = w[k][n] > high ? w[k][n] : high;
            }
            const float scale = high > low ? (high - low) / top : 1.f;
            const float zero_point = (float)(int)(-low / scale + 0.5f);
            q->scales[g][n] = scale;
            q->zero_points[g][n] = (uint8_t)zero_point;
            for (int k = g * GROUP; k < (g + 1) * GROUP; k++) {
                const float code = w[k][n] / scale + zero_point + 0.5f;
                q->codes[k][n] = (uint8_t)(code < 0.f ? 0.f : code > top ? top : code);
            }
        }
}

/* Makes the primitive that quantises activations. M is known at execution only. */
static zemm_primitive_t create_quantize(void) {
    const zemm_dims_t groups = {1, GROUP};
    zemm_primitive_attr_t attr;
    zemm_primitive_desc_t pd;
    zemm_primitive_t primitive;
    zemm_memory_desc_t src = matrix(ZEMM_RUNTIME_DIM_VAL, K, zemm_f32);
    zemm_memory_desc_t dst = matrix(ZEMM_RUNTIME_DIM_VAL, K, zemm_s8);
    CHECK(zemm_primitive_attr_create(&attr));
    CHECK(zemm_primitive_attr_set_scales_v3(attr, ZEMM_ARG_DST, EVERY, 2, groups, zemm_f32, 0,
                                            zemm_quantization_mode_dynamic_fp));
    CHECK(zemm_primitive_attr_set_precomputed_reductions(attr, ZEMM_ARG_DST, EVERY, 2, groups, zemm_s32));
    CHECK(zemm_reorder_primitive_desc_create(&pd, src, engine, dst, engine, attr));
    CHECK(zemm_primitive_create(&primitive, pd));
    CHECK(zemm_primitive_desc_destroy(pd));
    CHECK(zemm_primitive_attr_destroy(attr));
    CHECK(zemm_memory_desc_destroy(src));
    CHECK(zemm_memory_desc_destroy(dst));
    return primitive;
}

/* Makes the matmul. packed: a copy of the layout of weights that it wants. */
static zemm_primitive_t create_matmul(zemm_data_type_t type, zemm_memory_desc_t *packed) {
    const zemm_dims_t src_groups = {1, GROUP}, groups = {GROUP, 1}, dims = {K, N};
    zemm_primitive_attr_t attr;
    zemm_primitive_desc_t pd;
    zemm_primitive_t primitive;
    zemm_memory_desc_t any;
    zemm_memory_desc_t src = matrix(ZEMM_RUNTIME_DIM_VAL, K, zemm_s8);
    zemm_memory_desc_t dst = matrix(ZEMM_RUNTIME_DIM_VAL, N, zemm_f32);
    CHECK(zemm_memory_desc_create_with_tag(&any, 2, dims, type, zemm_format_tag_any));
    CHECK(zemm_primitive_attr_create(&attr));
    CHECK(zemm_primitive_attr_set_scales(attr, ZEMM_ARG_SRC, EVERY, 2, src_groups, zemm_f32));
    CHECK(zemm_primitive_attr_set_scales(attr, ZEMM_ARG_WEIGHTS, EVERY, 2, groups, zemm_f32));
    CHECK(zemm_primitive_attr_set_zero_points(attr, ZEMM_ARG_WEIGHTS, EVERY, 2, groups, zemm_u8));
    CHECK(zemm_primitive_attr_set_precomputed_reductions(attr, ZEMM_ARG_SRC, EVERY, 2, src_groups, zemm_s32));
    CHECK(zemm_matmul_primitive_desc_create(&pd, engine, src, any, NULL, dst, attr));
    CHECK(zemm_primitive_create(&primitive, pd));
    CHECK(zemm_memory_desc_clone(packed, zemm_primitive_desc_query_md(pd, zemm_query_weights_md, 0)));
    CHECK(zemm_primitive_desc_destroy(pd));
    CHECK(zemm_primitive_attr_destroy(attr));
    CHECK(zemm_memory_desc_destroy(src));
    CHECK(zemm_memory_desc_destroy(any));
    CHECK(zemm_memory_desc_destroy(dst));
    return primitive;
}

/* Copies the weights into the layout packed, with a reorder. Takes packed. */
static zemm_memory_t pack(const struct weights *q, zemm_data_type_t type, zemm_memory_desc_t packed) {
    static uint8_t bytes[K * N]; /* zemm's u4: two values in a byte, the even column in the low nibble */
    zemm_primitive_desc_t pd;
    zemm_primitive_t reorder;
    zemm_memory_desc_t plain = matrix(K, N, type);
    for (int k = 0; k < K; k++)
        for (int n = 0; n < N; n++)
            if (q->bits == 8)
                bytes[k * N + n] = q->codes[k][n];
            else if (n % 2 == 0)
                bytes[(k * N + n) / 2] = (uint8_t)(q->codes[k][n] | q->codes[k][n + 1] << 4);
    CHECK(zemm_reorder_primitive_desc_create(&pd, plain, engine, packed, engine, NULL));
    CHECK(zemm_primitive_create(&reorder, pd));
    zemm_memory_t from = memory(plain, bytes), to = memory(packed, ZEMM_MEMORY_ALLOCATE);
    zemm_exec_arg_t args[] = {{ZEMM_ARG_FROM, from}, {ZEMM_ARG_TO, to}};
    CHECK(zemm_primitive_execute(reorder, stream, 2, args));
    CHECK(zemm_stream_wait(stream));
    CHECK(zemm_memory_destroy(from));
    CHECK(zemm_primitive_destroy(reorder));
    CHECK(zemm_primitive_desc_destroy(pd));
    return to;
}

static struct layer create_layer(struct weights *q) {
    const zemm_data_type_t type = q->bits == 8 ? zemm_u8 : zemm_u4;
    struct layer layer;
    zemm_memory_desc_t packed;
    layer.quantize = create_quantize();
    layer.matmul = create_matmul(type, &packed);
    layer.weights = pack(q, type, packed);
    layer.scales = memory(matrix(GROUPS, N, zemm_f32), q->scales);
    layer.zero_points = memory(matrix(GROUPS, N, zemm_u8), q->zero_points);
    return layer;
}

static void destroy_layer(struct layer *layer) {
    CHECK(zemm_primitive_destroy(layer->quantize));
    CHECK(zemm_primitive_destroy(layer->matmul));
    CHECK(zemm_memory_destroy(layer->weights));
    CHECK(zemm_memory_destroy(layer->scales));
    CHECK(zemm_memory_destroy(layer->zero_points));
}

/* y[rows][N] = x[rows][K] * w. Both primitives are submitted before the wait: the stream runs them
 * in order. */
static void run(const struct layer *layer, int rows, float (*x)[K], float (*y)[N]) {
    zemm_memory_t x_memory = memory(matrix(rows, K, zemm_f32), x);
    zemm_memory_t y_memory = memory(matrix(rows, N, zemm_f32), y);
    zemm_memory_t values_memory = memory(matrix(rows, K, zemm_s8), quantized.values);
    zemm_memory_t scales_memory = memory(matrix(rows, GROUPS, zemm_f32), quantized.scales);
    zemm_memory_t sums_memory = memory(matrix(rows, GROUPS, zemm_s32), quantized.sums);
    zemm_exec_arg_t of_quantize[] = {
        {ZEMM_ARG_FROM, x_memory},
        {ZEMM_ARG_TO, values_memory},
        {ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_DST, scales_memory},
        {ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS | ZEMM_ARG_DST, sums_memory},
    };
    zemm_exec_arg_t of_matmul[] = {
        {ZEMM_ARG_SRC, values_memory},
        {ZEMM_ARG_WEIGHTS, layer->weights},
        {ZEMM_ARG_DST, y_memory},
        {ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_SRC, scales_memory},
        {ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_WEIGHTS, layer->scales},
        {ZEMM_ARG_ATTR_ZERO_POINTS | ZEMM_ARG_WEIGHTS, layer->zero_points},
        {ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS | ZEMM_ARG_SRC, sums_memory},
    };
    CHECK(zemm_primitive_execute(layer->quantize, stream, 4, of_quantize));
    CHECK(zemm_primitive_execute(layer->matmul, stream, 7, of_matmul));
    CHECK(zemm_stream_wait(stream));
    CHECK(zemm_memory_destroy(x_memory));
    CHECK(zemm_memory_destroy(y_memory));
    CHECK(zemm_memory_destroy(values_memory));
    CHECK(zemm_memory_destroy(scales_memory));
    CHECK(zemm_memory_destroy(sums_memory));
}

static double absolute(double value) {
    return value < 0 ? -value : value;
}

/* Whether each value is x divided by the scale and rounded. */
static int is_quantized(int rows, float (*x)[K]) {
    for (int m = 0; m < rows; m++)
        for (int k = 0; k < K; k++) {
            const double scale = quantized.scales[m][k / GROUP];
            if (!(absolute(x[m][k] - scale * quantized.values[m][k]) <= 0.5001 * scale))
                return 0;
        }
    return 1;
}

/* The largest error of y beside a plain loop over the quantised activations and weights, as a part of
 * the sum of absolute products. */
static double largest_error(const struct weights *q, int rows, float (*y)[N]) {
    double largest = 0;
    for (int m = 0; m < rows; m++)
        for (int n = 0; n < N; n++) {
            double sum = 0, size = 0;
            for (int k = 0; k < K; k++) {
                const int g = k / GROUP, weight = q->codes[k][n] - q->zero_points[g][n];
                const double scale = (double)quantized.scales[m][g] * q->scales[g][n];
                sum += scale * quantized.values[m][k] * weight;
                size += absolute(scale * quantized.values[m][k] * weight);
            }
            const double error = absolute(sum - y[m][n]) / size;
            largest = error > largest ? error : largest;
        }
    return largest;
}

/* A repeatable number between -1 and 1. */
static float next(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / (1 << 23) - 1.f;
}

int main(void) {
    static const int row_counts[] = {1, 4, MOST_ROWS};
    static float w[K][N], x[MOST_ROWS][K], y[MOST_ROWS][N];
    static struct weights q;
    uint32_t state = 1;
    int failures = 0;
    for (int i = 0; i < K * N; i++)
        w[i / N][i % N] = next(&state);
    for (int i = 0; i < MOST_ROWS * K; i++)
        x[i / K][i % K] = next(&state);
    CHECK(zemm_engine_create(&engine, zemm_cpu, 0));
    CHECK(zemm_stream_create(&stream, engine, zemm_stream_default_flags));
    for (int bits = 8; bits >= 4; bits -= 4) {
        quantize_weights(w, bits, &q);
        struct layer layer = create_layer(&q);
        for (int i = 0; i < 3; i++) {
            run(&layer, row_counts[i], x, y);
            const double error = largest_error(&q, row_counts[i], y);
            const int right = is_quantized(row_counts[i], x) && error < 1e-6;
            printf("u%d, %2d rows: largest error %.1e, %s\n", bits, row_counts[i], error,
                   right ? "right" : "WRONG");
            failures += !right;
        }
        destroy_layer(&layer);
    }
    CHECK(zemm_stream_destroy(stream));
    CHECK(zemm_engine_destroy(engine));
    return failures;
}
