// SPDX-License-Identifier: Apache-2.0
// The steps of a mixture of experts beside its two products (src/experts/experts.h). Types are read at run
// time, so that one module serves all models, but for what quantises rows.
#define WITHOUT_SMALL_FLOATS
#include "args/experts_args.h"
#include "arithmetic/float_tensors.h"
#include "reorder/quantize_groups.h"

typedef global const long *columns_of_expert; // 0: columns as they come

// The columns from `at` on of a row that begins at element `row` and of which every `step`-th element counts,
// from `first` on.
static inline float16 load_columns(bytes p, int type, long row, int step, long first,
                                   columns_of_expert columns, long at, long count) {
    if (columns || count < 16) {
        float values[16] = {0};
        for (long i = 0; i < count; ++i)
            values[i] = load1(p, type, row + first + step * (columns ? columns[at + i] : at + i));
        return vload16(0, values);
    }
    if (step == 1)
        return load16(p, type, row + first + at);
    const float16 a = load16(p, type, row + 2 * at), b = load16(p, type, row + 2 * at + 16);
    return first ? (float16)(a.odd, b.odd) : (float16)(a.even, b.even);
}

static inline void store_columns(global uchar *p, int type, long i, long count, float16 x) {
    if (count == 16) {
        store16(p, type, i, x);
        return;
    }
    float values[16];
    vstore16(x, 0, values);
    for (long j = 0; j < count; ++j)
        store_float(p, type, i + j, values[j]);
}

// Runs a block for pieces of 16 columns: `at` is the first of `count`. The last piece meets the one before
// it.
#define FOR_COLUMNS(width)                                                                                   \
    const long count = min(16l, width);                                                                      \
    for (long next = 0, at; at = min(next, (width)-count), next < (width); next += 16)

static inline float16 activated(const struct experts_arguments *a, float16 x) {
    switch (a->activation) {
    case GATE_swish:
        return x / (1.f + exp(-a->alpha * x));
    case GATE_gelu_erf:
        return 0.5f * x * erfc(-0.70710677f * x); // 1 + erf() has no digits far below 0
    case GATE_gelu_tanh:
        return x / (1.f + exp(-1.5957691f * (x + 0.044715f * x * x * x)));
    }
    const float16 positive = x < 0.f ? (float16)0.f : x;
    return a->activation == GATE_relu ? positive : positive * positive;
}

static inline float16 limited(float16 x, float least, float most) {
    const float16 below = x > most ? (float16)most : x;
    return below < least ? (float16)least : below;
}

// The numbers of a work-group's only work-item, of those that the work-items share.
#define FOR_NUMBERS(a, item, i)                                                                              \
    for (long i = (item) * (a)->per_item; i < min(((item) + 1) * (a)->per_item, (a)->count); ++i)

// Defines the kernel `name`, whose work-item does name_item(arguments, item), and the function that libze_cpu
// calls for neighbouring work-groups in place of a launch (docs/level_zero.md).
#define KERNEL_OF_ITEMS(name)                                                                                \
    __attribute__((noinline)) void ze_cpu_groups_of_##name(global const struct experts_arguments *call,      \
                                                           long x, long y, long z, long count) {             \
        const struct experts_arguments a = *call;                                                            \
        for (long i = 0; i < count; ++i)                                                                     \
            name##_item(&a, x + i);                                                                          \
    }                                                                                                        \
    __attribute__((reqd_work_group_size(1, 1, 1))) kernel void name(struct experts_arguments a) {            \
        name##_item(&a, get_global_id(0));                                                                   \
    }

// dst: row `row`, quantised from src, whose element `from` is the row's first one.
static inline void quantize_row(const struct experts_arguments *a, bytes src, long from, long row) {
    const long part = min(a->group, a->sums_group);
    const struct group_lengths lengths = {a->width, a->group, part, a->sums_group / part};
    struct group_results results = {(global uchar *)a->scales, row * a->groups, 0,
                                    (global int *)a->sums + row * a->sums_groups};
    quantize_groups(src, from, (global uchar *)a->dst, row * a->width, 0, a->width, &lengths, &results);
}

// Copies whole words, and the bytes after them.
static inline void copy_bytes(global uchar *to, bytes from, long count) {
    long i = 0;
    for (; i + 64 <= count; i += 64)
        vstore16(vload16(0, (global const int *)(from + i)), 0, (global int *)(to + i));
    for (; i < count; ++i)
        to[i] = from[i];
}

// dst: the quantised row `row` once more.
static inline void copy_row(const struct experts_arguments *a, long row, long to) {
    const long scales = a->groups * sizeof(float), sums = a->sums_groups * sizeof(int);
    copy_bytes((global uchar *)a->dst + to * a->width, (bytes)a->dst + row * a->width, a->width);
    copy_bytes((global uchar *)a->scales + to * scales, (bytes)a->scales + row * scales, scales);
    copy_bytes((global uchar *)a->sums + to * sums, (bytes)a->sums + row * sums, sums);
}

// Where a work-item writes its row `row`: into dst or, if it is quantised then, into its own one.
static inline global uchar *written_row(const struct experts_arguments *a, long item, long row) {
    const long at = (a->scales ? item : row) * a->width;
    return (global uchar *)(a->scales ? a->rows : a->dst) + at * (a->dst_type == DT_F32 ? 4 : 2);
}

// Makes the routes of the index. Rows are sorted by expert; those of an expert have the order of their
// tokens. Returns whether all experts are there. If not, all ends are past the rows, which matmuls refuse.
static inline bool make_routes(const struct experts_arguments *a) {
    const long count = a->takes_tokens ? a->count * a->top_k : a->count;
    global const long *index = (global const long *)a->index;
    global int *ends = (global int *)a->routes, *places = ends + a->experts;
    bool are_there = true;
    for (long e = 0; e < a->experts; ++e)
        ends[e] = 0;
    for (long i = 0; i < count && are_there; ++i) {
        are_there = index[i] >= 0 && index[i] < a->experts;
        if (are_there)
            ++ends[index[i]];
    }
    int end = 0;
    for (long e = 0; e < a->experts; ++e) {
        const int size = ends[e];
        ends[e] = are_there ? end : INT_MAX;
        end += size;
    }
    for (long i = 0; i < count && are_there; ++i)
        places[i] = ends[index[i]]++;
    return are_there;
}

static inline void experts_route_item(const struct experts_arguments *a, long item) {
    (void)item;
    make_routes(a);
}
KERNEL_OF_ITEMS(experts_route)

// dst: the row of src that is the token of each row. A single work-item makes the routes first. Without
// columns a token is quantised once for all of its rows.
static inline void experts_gather_item(const struct experts_arguments *a, long item) {
    global const int *routes = (global const int *)a->routes;
    if (a->count <= a->per_item ? !make_routes(a) : routes[0] == INT_MAX)
        return;
    global const int *places = routes + a->experts;
    FOR_NUMBERS(a, item, i) {
        if (a->takes_tokens) {
            const long row = places[i * a->top_k];
            quantize_row(a, (bytes)a->src, i * a->width, row);
            for (long k = 1; k < a->top_k; ++k)
                copy_row(a, row, places[i * a->top_k + k]);
            continue;
        }
        const columns_of_expert columns =
            a->columns ? (columns_of_expert)a->columns + ((global const long *)a->index)[i] * a->width : 0;
        const long from = i / a->top_k * a->width;
        global uchar *to = written_row(a, item, places[i]);
        FOR_COLUMNS(a->width) {
            const float16 x = load_columns((bytes)a->src, a->src_type, from, 1, 0, columns, at, count);
            store_columns(to, a->dst_type, at, count, x);
        }
        if (a->scales)
            quantize_row(a, to, 0, places[i]);
    }
}
KERNEL_OF_ITEMS(experts_gather)

// dst: what the gate makes of each row of src.
static inline void experts_gate_item(const struct experts_arguments *a, long item) {
    const long src_width = a->is_gated ? 2 * a->width : a->width;
    const int step = a->is_interleaved ? 2 : 1;
    const long first_up = a->is_interleaved ? 1 : a->width;
    FOR_NUMBERS(a, item, i) {
        long row = i;
        columns_of_expert columns = 0;
        if (a->columns) {
            row = ((global const int *)a->routes)[a->experts + i];
            columns = (columns_of_expert)a->columns + ((global const long *)a->index)[i] * a->width;
        }
        global uchar *to = written_row(a, item, row);
        FOR_COLUMNS(a->width) {
            const bytes src = (bytes)a->src;
            float16 x = load_columns(src, a->src_type, row * src_width, step, 0, columns, at, count);
            if (a->is_gated) {
                const float16 up =
                    load_columns(src, a->src_type, row * src_width, step, first_up, columns, at, count);
                x = activated(a, limited(x, -INFINITY, a->gate_most)) *
                    (limited(up, -a->up_most, a->up_most) + a->up_shift);
            } else {
                x = activated(a, x);
            }
            store_columns(to, a->dst_type, at, count, x);
        }
        if (a->scales)
            quantize_row(a, to, 0, row);
    }
}
KERNEL_OF_ITEMS(experts_gate)

// dst: for each token the sum of its rows of src with their weights.
static inline void experts_combine_item(const struct experts_arguments *a, long item) {
    global const int *places = (global const int *)a->routes + a->experts;
    FOR_NUMBERS(a, item, token) {
        FOR_COLUMNS(a->width) {
            float16 sum = 0.f;
            for (long i = token * a->top_k; i < (token + 1) * a->top_k; ++i) {
                const float weight = load1((bytes)a->weights, a->weights_type, i);
                sum += weight *
                       load_columns((bytes)a->src, a->src_type, places[i] * a->width, 1, 0, 0, at, count);
            }
            store_columns((global uchar *)a->dst, a->dst_type, token * a->width + at, count, sum);
        }
    }
}
KERNEL_OF_ITEMS(experts_combine)
