/* SPDX-License-Identifier: Apache-2.0 */
/* The host's part of a mixture of experts: rows are sorted by expert, gathered, gated and added up. One
 * thread does this, in vectors. A row is converted to f32 and back in pieces that stay in the nearest cache.
 */
#include <math.h>
#include <string.h>

enum { piece = 256 }; /* elements */

/* Loops that the compiler turns into vectors of the CPU at hand. */
#define EXPERTS_INLINE static inline __attribute__((always_inline))

EXPERTS_INLINE uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

EXPERTS_INLINE float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

EXPERTS_INLINE uint16_t bf16_of(float x) {
    const uint32_t bits = bits_of(x);
    const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? (bits >> 16) | 0x40 : rounded);
}

/* Multiplying by 2^112 moves the exponent, and makes denormals normal. */
EXPERTS_INLINE float of_f16(uint16_t half) {
    const uint32_t magnitude = (uint32_t)(half & 0x7fff) << 13;
    const uint32_t finite = bits_of(float_of(magnitude) * 0x1p112f);
    const uint32_t bits = magnitude >= 0x0f800000 ? magnitude | 0x7f800000 : finite;
    return float_of(bits | (uint32_t)(half & 0x8000) << 16);
}

/* Half to even. A sum with 0.5 rounds what becomes denormal. */
EXPERTS_INLINE uint16_t f16_of(float x) {
    const uint32_t magnitude = bits_of(x) & 0x7fffffff;
    const uint32_t denormal = bits_of(float_of(magnitude) + 0.5f) - 0x3f000000;
    const uint32_t normal = (magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1)) >> 13;
    uint32_t half = magnitude < 0x38800000 ? denormal : normal;
    half = magnitude >= 0x477ff000 ? 0x7c00 : half;
    half = magnitude > 0x7f800000 ? 0x7e00 : half;
    return (uint16_t)(half | (bits_of(x) >> 16 & 0x8000));
}

static size_t size_of(int type) {
    return type == zemm_f32 ? 4 : 2;
}

EXPERTS_INLINE void load(int type, const char *from, int64_t first, int64_t count, float *to) {
    const uint16_t *const shorts = (const uint16_t *)from + first;
    if (type == zemm_f32)
        memcpy(to, (const float *)from + first, (size_t)count * sizeof *to);
    else if (type == zemm_bf16)
        for (int64_t i = 0; i < count; ++i)
            to[i] = float_of((uint32_t)shorts[i] << 16);
    else
        for (int64_t i = 0; i < count; ++i)
            to[i] = of_f16(shorts[i]);
}

EXPERTS_INLINE void store(int type, const float *from, int64_t count, char *to, int64_t first) {
    uint16_t *const shorts = (uint16_t *)to + first;
    if (type == zemm_f32)
        memcpy((float *)to + first, from, (size_t)count * sizeof *from);
    else if (type == zemm_bf16)
        for (int64_t i = 0; i < count; ++i)
            shorts[i] = bf16_of(from[i]);
    else
        for (int64_t i = 0; i < count; ++i)
            shorts[i] = f16_of(from[i]);
}

/* e^x for x within -87..88, beyond as at these ends, with an error of 2 ulp: 2^n * e^r, |r| <= ln(2) / 2. */
EXPERTS_INLINE float exponential(float x) {
    x = x < -87.f ? -87.f : x;
    x = x > 88.f ? 88.f : x;
    const float sum = x * 1.44269504f + 0x1.8p23f, n = sum - 0x1.8p23f; /* the nearest integer */
    const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.f / 5040;
    p = p * r + 1.f / 720;
    p = p * r + 1.f / 120;
    p = p * r + 1.f / 24;
    p = p * r + 1.f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.f;
    p = p * r + 1.f;
    return p * float_of((bits_of(sum) - 0x4b400000 + 127) << 23);
}

EXPERTS_INLINE float swish(float x, float alpha) {
    return x / (1.f + exponential(-alpha * x));
}

/* erf by formula 7.1.26 of Abramowitz and Stegun: its error is below 1.5e-7. */
EXPERTS_INLINE float gelu_erf(float x) {
    const float u = fabsf(x) * 0.707106781f, t = 1.f / (1.f + 0.3275911f * u);
    float p = 1.061405429f;
    p = p * t - 1.453152027f;
    p = p * t + 1.421413741f;
    p = p * t - 0.284496736f;
    p = p * t + 0.254829592f;
    const float half_of_rest = 0.5f * p * t * exponential(-u * u);
    return x * (x < 0.f ? half_of_rest : 1.f - half_of_rest);
}

EXPERTS_INLINE float gelu_tanh(float x) {
    return x / (1.f + exponential(-1.59576912f * (x + 0.044715f * x * x * x)));
}

EXPERTS_INLINE float relu(float x) {
    return x < 0.f ? 0.f : x;
}

EXPERTS_INLINE void activate(const experts_gate *gate, float *x, int64_t count) {
    const float alpha = gate->alpha;
    switch (gate->activation) {
    case 0:
        for (int64_t i = 0; i < count; ++i)
            x[i] = swish(x[i], alpha);
        break;
    case 1:
        for (int64_t i = 0; i < count; ++i)
            x[i] = gelu_erf(x[i]);
        break;
    case 2:
        for (int64_t i = 0; i < count; ++i)
            x[i] = gelu_tanh(x[i]);
        break;
    case 3:
        for (int64_t i = 0; i < count; ++i)
            x[i] = relu(x[i]);
        break;
    default:
        for (int64_t i = 0; i < count; ++i)
            x[i] = relu(x[i]) * relu(x[i]);
    }
}

/* `count` elements of a gated row from `first` on, at most a piece. width: of the gated row. */
EXPERTS_INLINE void gate_piece(const experts_gate *gate, int type, const char *row, int64_t width,
                               int64_t first, int64_t count, float *made) {
    if (!gate->is_gated) {
        load(type, row, first, count, made);
        activate(gate, made, count);
        return;
    }
    float up[piece], both[2 * piece];
    if (gate->is_interleaved) {
        load(type, row, 2 * first, 2 * count, both);
        for (int64_t i = 0; i < count; ++i) {
            made[i] = both[2 * i];
            up[i] = both[2 * i + 1];
        }
    } else {
        load(type, row, first, count, made);
        load(type, row, width + first, count, up);
    }
    const float gate_most = gate->gate_most, up_most = gate->up_most, shift = gate->up_shift;
    for (int64_t i = 0; i < count; ++i)
        made[i] = made[i] > gate_most ? gate_most : made[i];
    activate(gate, made, count);
    for (int64_t i = 0; i < count; ++i) {
        const float below = up[i] > up_most ? up_most : up[i];
        made[i] *= (below < -up_most ? -up_most : below) + shift;
    }
}

/* The rows may be written over what they are made of, if the types are equal: a piece ends before what has
 * not been read yet. */
EXPERTS_INLINE void gate_rows(const experts_gate *gate, int from_type, const char *from, int to_type,
                              char *to, int64_t rows, int64_t width) {
    const size_t stride = (size_t)width * (gate->is_gated ? 2 : 1) * size_of(from_type);
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t first = 0; first < width; first += piece) {
            float made[piece];
            const int64_t rest = width - first, count = rest < piece ? rest : piece;
            gate_piece(gate, from_type, from + (size_t)r * stride, width, first, count, made);
            store(to_type, made, count, to, r * width + first);
        }
}

/* y: for each token the sum of its rows with their weights. */
EXPERTS_INLINE void add_up(const experts_call *call, const experts_tensors *tensors, const int64_t *places) {
    const int64_t width = call->results.width, top_k = call->top_k;
    for (int64_t token = 0; token < call->tokens; ++token)
        for (int64_t first = 0; first < width; first += piece) {
            const int64_t rest = width - first, count = rest < piece ? rest : piece;
            float sum[piece] = {0}, own[piece], weight;
            for (int64_t i = token * top_k; i < (token + 1) * top_k; ++i) {
                load(tensors->weights_type, tensors->weights, i, 1, &weight);
                load(call->results.type, tensors->scratch + call->results.at, places[i] * width + first,
                     count, own);
                for (int64_t j = 0; j < count; ++j)
                    sum[j] += weight * own[j];
            }
            store(call->y_type, sum, count, tensors->y, token * width + first);
        }
}

EXPERTS_INLINE void convert_row(int from_type, const char *from, int to_type, char *to, int64_t width) {
    for (int64_t first = 0; first < width; first += piece) {
        float values[piece];
        const int64_t rest = width - first, count = rest < piece ? rest : piece;
        load(from_type, from, first, count, values);
        store(to_type, values, count, to, first);
    }
}

/* The same code for vectors of three lengths. */
#define EXPERTS_VARIANT(name, attributes)                                                                    \
    attributes static void gate_rows_##name(const experts_gate *gate, int from_type, const char *from,       \
                                            int to_type, char *to, int64_t rows, int64_t width) {            \
        gate_rows(gate, from_type, from, to_type, to, rows, width);                                          \
    }                                                                                                        \
    attributes static void add_up_##name(const experts_call *call, const experts_tensors *tensors,           \
                                         const int64_t *places) {                                            \
        add_up(call, tensors, places);                                                                       \
    }                                                                                                        \
    attributes static void convert_row_##name(int from_type, const char *from, int to_type, char *to,        \
                                              int64_t width) {                                               \
        convert_row(from_type, from, to_type, to, width);                                                    \
    }                                                                                                        \
    static const experts_functions functions_##name = {gate_rows_##name, add_up_##name, convert_row_##name};

typedef struct {
    void (*gate_rows)(const experts_gate *, int, const char *, int, char *, int64_t, int64_t);
    void (*add_up)(const experts_call *, const experts_tensors *, const int64_t *);
    void (*convert_row)(int, const char *, int, char *, int64_t);
} experts_functions;

EXPERTS_VARIANT(any, )
#ifdef __x86_64__
EXPERTS_VARIANT(avx2, __attribute__((target("avx2,fma"))))
EXPERTS_VARIANT(avx512, __attribute__((target("avx2,fma,avx512f,avx512bw,avx512vl,avx512dq"))))
#endif

static const experts_functions *experts_of_this_cpu(void) {
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq"))
        return &functions_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &functions_avx2;
#endif
    return &functions_any;
}

/* Counts the rows of each expert, and finds the row of each token and expert: those of an expert have the
 * order of their tokens. Returns whether all experts are there. */
static int sort_rows(const experts_call *call, const int64_t *index, int64_t *sizes, int64_t *places) {
    const int64_t rows = call->tokens * call->top_k;
    memset(sizes, 0, (size_t)call->nexperts * sizeof *sizes);
    for (int64_t i = 0; i < rows; ++i) {
        if (index[i] < 0 || index[i] >= call->nexperts)
            return 0;
        ++sizes[index[i]];
    }
    int64_t begin = 0;
    for (int64_t e = 0; e < call->nexperts; ++e) {
        const int64_t size = sizes[e];
        sizes[e] = begin;
        begin += size;
    }
    for (int64_t i = 0; i < rows; ++i)
        places[i] = sizes[index[i]]++;
    for (int64_t e = call->nexperts - 1; e > 0; --e)
        sizes[e] -= sizes[e - 1]; /* they were ends */
    return 1;
}

static void pick(const char *from, const int64_t *columns, char *to, int64_t width, size_t size) {
    if (size == 4)
        for (int64_t i = 0; i < width; ++i)
            ((uint32_t *)to)[i] = ((const uint32_t *)from)[columns[i]];
    else
        for (int64_t i = 0; i < width; ++i)
            ((uint16_t *)to)[i] = ((const uint16_t *)from)[columns[i]];
}

/* The rows that up multiplies. */
static void gather(const experts_call *call, const experts_tensors *tensors, const int64_t *places,
                   const experts_functions *functions) {
    const int64_t width = call->gathered.width;
    const size_t from_bytes = (size_t)width * size_of(call->x_type);
    const size_t to_bytes = (size_t)width * size_of(call->gathered.type);
    for (int64_t i = 0; i < call->tokens * call->top_k; ++i) {
        const char *const from = (const char *)tensors->x + (size_t)(i / call->top_k) * from_bytes;
        char *const to = tensors->scratch + call->gathered.at + (size_t)places[i] * to_bytes;
        if (call->x_type != call->gathered.type)
            functions->convert_row(call->x_type, from, call->gathered.type, to, width);
        else if (tensors->up_columns)
            pick(from, tensors->up_columns + tensors->index[i] * width, to, width, size_of(call->x_type));
        else
            memcpy(to, from, to_bytes);
    }
}

/* The rows that down multiplies. */
static void gate_all(const experts_call *call, const experts_tensors *tensors, const int64_t *sizes,
                     const experts_functions *functions) {
    const experts_rows *const from = &call->products, *const to = &call->gated;
    const char *const products = tensors->scratch + from->at;
    char *const made = tensors->scratch + to->at, *const spare = tensors->scratch + call->spare_at;
    const size_t stride = (size_t)from->width * size_of(from->type);
    const size_t made_stride = (size_t)to->width * size_of(to->type);
    if (!tensors->down_columns) {
        functions->gate_rows(&call->gate, from->type, products, to->type, made, call->tokens * call->top_k,
                             to->width);
        return;
    }
    size_t row = 0;
    for (int64_t e = 0; e < call->nexperts; ++e)
        for (int64_t i = 0; i < sizes[e]; ++i, ++row) {
            functions->gate_rows(&call->gate, from->type, products + row * stride, to->type, spare, 1,
                                 to->width);
            pick(spare, tensors->down_columns + e * to->width, made + row * made_stride, to->width,
                 size_of(to->type));
        }
}

static int multiply(const layer_call *layer, zemm_stream_t stream, const experts_call *call, char *scratch,
                    size_t from, size_t to, size_t layer_scratch) {
    const int64_t *sizes = (const int64_t *)(scratch + call->sizes_at);
    return layer_run(layer, stream, scratch + from, scratch + to, scratch + layer_scratch, sizes,
                     call->tokens * call->top_k, 1);
}

static int experts_run(const experts_call *call, const experts_tensors *tensors, zemm_stream_t stream) {
    char *const scratch = tensors->scratch;
    int64_t *const sizes = (int64_t *)(scratch + call->sizes_at);
    int64_t *const places = (int64_t *)(scratch + call->places_at);
    const experts_functions *const functions = experts_of_this_cpu();
    if (!sort_rows(call, tensors->index, sizes, places))
        return -1;
    gather(call, tensors, places, functions);
    int status =
        multiply(call->up, stream, call, scratch, call->gathered.at, call->products.at, call->up_scratch_at);
    if (status)
        return status;
    gate_all(call, tensors, sizes, functions);
    status =
        multiply(call->down, stream, call, scratch, call->gated.at, call->results.at, call->down_scratch_at);
    if (!status)
        functions->add_up(call, tensors, places);
    return status;
}

static void experts_gate_rows(const experts_gate *gate, const float *from, float *to, int64_t rows,
                              int64_t width) {
    experts_of_this_cpu()->gate_rows(gate, zemm_f32, (const char *)from, zemm_f32, (char *)to, rows, width);
}
