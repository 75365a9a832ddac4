/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "tensor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *allocate(size_t bytes) {
    void *data;
    if (posix_memalign(&data, 64, bytes)) {
        fprintf(stderr, "zemm_time: no memory for %zu bytes\n", bytes);
        exit(1);
    }
    memset(data, 0, bytes);
    return data;
}

static size_t bytes_of(zemm_data_type_t type, size_t elements) {
    return type == zemm_u4 ? (elements + 1) / 2 : elements * zemm_data_type_size(type);
}

struct tensor tensor_new(zemm_data_type_t type, zemm_dim_t rows, zemm_dim_t columns, int transposed) {
    return (struct tensor){type, rows, columns, transposed,
                           allocate(bytes_of(type, (size_t)rows * (size_t)columns))};
}

static uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8; /* low bits of such a sequence repeat soon */
}

zemm_dim_t random_below(uint32_t *state, zemm_dim_t limit) {
    return (zemm_dim_t)(next_random(state) % (uint32_t)limit);
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Of 0, and of normal numbers that f16 has. */
static uint16_t f16_of(float value) {
    const uint32_t bits = bits_of(value), magnitude = bits & 0x7fffffff;
    return (uint16_t)((bits >> 16 & 0x8000) | (magnitude ? (magnitude >> 13) - (112 << 10) : 0));
}

void tensor_fill(struct tensor *t) {
    const size_t elements = (size_t)t->rows * (size_t)t->columns;
    uint32_t state = (uint32_t)elements;
    if (t->type != zemm_f32 && t->type != zemm_bf16 && t->type != zemm_f16) {
        const size_t bytes = bytes_of(t->type, elements);
        for (size_t i = 0; i < bytes; i++)
            ((uint8_t *)t->data)[i] = (uint8_t)next_random(&state);
        return;
    }
    for (size_t i = 0; i < elements; i++) {
        const float value = (float)((int)(next_random(&state) & 255) - 128) / 64;
        if (t->type == zemm_f32)
            ((float *)t->data)[i] = value;
        else if (t->type == zemm_f16)
            ((uint16_t *)t->data)[i] = f16_of(value);
        else /* bf16 has the value's eight bits, so that nothing is cut off */
            ((uint16_t *)t->data)[i] = (uint16_t)(bits_of(value) >> 16);
    }
}

void tensor_fill_scales(struct tensor *t) {
    const size_t elements = (size_t)t->rows * (size_t)t->columns;
    uint32_t state = (uint32_t)elements + 1;
    for (size_t i = 0; i < elements; i++) {
        const int exponent = -6 - (int)(next_random(&state) & 3);
        if (t->type == zemm_f32)
            ((float *)t->data)[i] = ldexpf(1, exponent);
        else
            ((uint16_t *)t->data)[i] = (uint16_t)((exponent + 15) << 10);
    }
}

static double value_of_f16(uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    if (exponent == 31)
        return fraction ? NAN : bits >> 15 ? -INFINITY : INFINITY;
    const double value = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return bits >> 15 ? -value : value;
}

double tensor_get(const struct tensor *t, zemm_dim_t row, zemm_dim_t column) {
    const zemm_dim_t at = t->transposed ? column * t->rows + row : row * t->columns + column;
    switch (t->type) {
    case zemm_f32:
        return ((const float *)t->data)[at];
    case zemm_bf16:
        return float_of((uint32_t)((const uint16_t *)t->data)[at] << 16);
    case zemm_f16:
        return value_of_f16(((const uint16_t *)t->data)[at]);
    case zemm_s8:
        return ((const int8_t *)t->data)[at];
    case zemm_u8:
        return ((const uint8_t *)t->data)[at];
    case zemm_u4:
        return ((const uint8_t *)t->data)[at / 2] >> (at & 1) * 4 & 15;
    default:
        fprintf(stderr, "zemm_time: no case has the type %s\n", zemm_dt2str(t->type));
        exit(1);
    }
}
