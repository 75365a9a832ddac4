/* SPDX-License-Identifier: Apache-2.0 */
/* zemm_time: times matmuls of LLMs on the CPU device and checks some elements of each result. It
 * needs no Python, so that zemm-bundle can take it to a server. */
#define _POSIX_C_SOURCE 200809L
#include <getopt.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tensor.h"
#include "zemm/zemm.h"

/* The attributes of a case. Groups are 128 elements along K. */
enum attributes {
    bare,       /* nothing */
    per_column, /* those of the RFC on precomputed reductions: f16 scales of groups of src, an f16
                   scale and a u8 zero point of each column of weights, reductions of src */
    per_group,  /* the same with scales and zero points of groups of weights */
    weight_only /* f32 scales and u8 zero points of groups of weights; weights are converted to f32 */
};
static const char *const attribute_names[] = {"bare", "per column", "per group", "weight-only"};

struct timed_case {
    const char *name;
    zemm_dim_t m, k, n;
    zemm_data_type_t src, wei, dst;
    zemm_format_tag_t tag; /* of weights; any: the library's layout */
    enum attributes attributes;
};

static const struct timed_case cases[] = {
    {"int8_512_bare", 512, 4096, 4096, zemm_u8, zemm_s8, zemm_f32, zemm_format_tag_any, bare},
    {"int8_512", 512, 4096, 4096, zemm_s8, zemm_u8, zemm_f16, zemm_format_tag_any, per_column},
    {"int8_512_groups", 512, 4096, 4096, zemm_s8, zemm_u8, zemm_f16, zemm_format_tag_any, per_group},
    {"int4_512_groups", 512, 4096, 4096, zemm_s8, zemm_u4, zemm_f16, zemm_format_tag_any, per_group},
    {"int8_2172_bare", 2172, 4096, 14336, zemm_u8, zemm_s8, zemm_f32, zemm_format_tag_any, bare},
    {"int8_2172", 2172, 4096, 14336, zemm_s8, zemm_u8, zemm_f16, zemm_format_tag_any, per_column},
    {"int8_31_bare", 31, 2560, 2560, zemm_u8, zemm_s8, zemm_f32, zemm_format_tag_any, bare},
    {"int8_31", 31, 2560, 2560, zemm_s8, zemm_u8, zemm_f16, zemm_format_tag_any, per_column},
    {"int8_31_ab", 31, 2560, 2560, zemm_s8, zemm_u8, zemm_f16, zemm_ab, per_column},
    {"int8_31_ba", 31, 2560, 2560, zemm_s8, zemm_u8, zemm_f16, zemm_ba, per_column},
    {"bf16_512", 512, 4096, 4096, zemm_bf16, zemm_bf16, zemm_bf16, zemm_format_tag_any, bare},
    {"bf16_2172", 2172, 4096, 14336, zemm_bf16, zemm_bf16, zemm_bf16, zemm_format_tag_any, bare},
    {"bf16_31", 31, 2560, 2560, zemm_bf16, zemm_bf16, zemm_bf16, zemm_format_tag_any, bare},
    {"bf16_u4_512", 512, 4096, 4096, zemm_bf16, zemm_u4, zemm_bf16, zemm_format_tag_any, weight_only},
    {"f16_512", 512, 4096, 4096, zemm_f16, zemm_f16, zemm_f16, zemm_format_tag_any, bare},
    {"f16_u4_512", 512, 4096, 4096, zemm_f16, zemm_u4, zemm_f16, zemm_format_tag_any, weight_only},
    {"f16_u4_31", 31, 2560, 2560, zemm_f16, zemm_u4, zemm_f16, zemm_format_tag_any, weight_only},
    {"f32_512", 512, 4096, 4096, zemm_f32, zemm_f32, zemm_f32, zemm_format_tag_any, bare},
    {"f32_31", 31, 2560, 2560, zemm_f32, zemm_f32, zemm_f32, zemm_format_tag_any, bare},
    {"f32_1", 1, 4096, 4096, zemm_f32, zemm_f32, zemm_f32, zemm_format_tag_any, bare},
    {"decode_int8", 1, 4096, 14336, zemm_s8, zemm_u8, zemm_f16, zemm_format_tag_any, per_group},
    {"decode_int4", 1, 4096, 14336, zemm_s8, zemm_u4, zemm_f16, zemm_format_tag_any, per_group},
    {"decode_bf16", 1, 4096, 14336, zemm_bf16, zemm_bf16, zemm_bf16, zemm_format_tag_any, bare},
    {"decode_weight_only_u8", 1, 4096, 14336, zemm_f32, zemm_u8, zemm_f32, zemm_format_tag_any, weight_only},
    {"decode_weight_only_u4", 1, 4096, 14336, zemm_f32, zemm_u4, zemm_f32, zemm_format_tag_any, weight_only},
};
enum {
    case_count = sizeof cases / sizeof *cases,
    group = 128,
    least_runs = 3,
    most_runs = 20000,
    checked_elements = 24
};

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        if ((call) != zemm_success) {                                                                        \
            fprintf(stderr, "zemm_time: %s\n", zemm_last_error());                                           \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static zemm_engine_t engine;
static zemm_stream_t stream;

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int order(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static zemm_primitive_attr_t make_attr(enum attributes attributes) {
    const zemm_dims_t src_group = {1, group}, wei_group = {group, 1};
    const zemm_data_type_t scale = attributes == weight_only ? zemm_f32 : zemm_f16;
    const int wei_mask = attributes == per_column ? 2 : 3, wei_dims = attributes == per_column ? 0 : 2;
    zemm_primitive_attr_t attr;
    CHECK(zemm_primitive_attr_create(&attr));
    if (attributes == bare)
        return attr;
    CHECK(zemm_primitive_attr_set_scales(attr, ZEMM_ARG_WEIGHTS, wei_mask, wei_dims, wei_group, scale));
    CHECK(
        zemm_primitive_attr_set_zero_points(attr, ZEMM_ARG_WEIGHTS, wei_mask, wei_dims, wei_group, zemm_u8));
    if (attributes == weight_only) {
        CHECK(zemm_primitive_attr_set_fpmath_mode_v2(attr, zemm_fpmath_mode_strict, 1));
        return attr;
    }
    CHECK(zemm_primitive_attr_set_scales(attr, ZEMM_ARG_SRC, 3, 2, src_group, scale));
    CHECK(zemm_primitive_attr_set_precomputed_reductions(attr, ZEMM_ARG_SRC, 3, 2, src_group, zemm_s32));
    return attr;
}

/* The tensors of a case; those of attributes that it lacks have no data. wei is the plain weights. */
struct tensors {
    struct tensor src, wei, dst, src_scales, reductions, wei_scales, wei_zero_points;
};

static struct tensors make_tensors(const struct timed_case *c) {
    const zemm_dim_t groups = c->k / group, wei_rows = c->attributes == per_column ? 1 : groups;
    const zemm_data_type_t scale = c->attributes == weight_only ? zemm_f32 : zemm_f16;
    struct tensors t = {.src = tensor_new(c->src, c->m, c->k, 0),
                        .wei = tensor_new(c->wei, c->k, c->n, c->tag == zemm_ba),
                        .dst = tensor_new(c->dst, c->m, c->n, 0)};
    tensor_fill(&t.src);
    tensor_fill(&t.wei);
    if (c->attributes == bare)
        return t;
    t.wei_scales = tensor_new(scale, wei_rows, c->n, 0);
    t.wei_zero_points = tensor_new(zemm_u8, wei_rows, c->n, 0);
    tensor_fill_scales(&t.wei_scales);
    tensor_fill(&t.wei_zero_points);
    if (c->attributes == weight_only)
        return t;
    t.src_scales = tensor_new(scale, c->m, groups, 0);
    t.reductions = tensor_new(zemm_s32, c->m, groups, 0);
    tensor_fill_scales(&t.src_scales);
    for (zemm_dim_t row = 0; row < c->m; row++)
        for (zemm_dim_t k = 0; k < c->k; k++)
            ((int32_t *)t.reductions.data)[row * groups + k / group] += (int32_t)tensor_get(&t.src, row, k);
    return t;
}

static void free_tensors(struct tensors *t) {
    struct tensor *all[] = {
        &t->src, &t->wei, &t->dst, &t->src_scales, &t->reductions, &t->wei_scales, &t->wei_zero_points};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]->data);
}

/* Whether some elements of dst are what a plain loop gives, but for rounding: that of dst, and that
 * of f32 in sums over K. */
static int is_right(const struct timed_case *c, const struct tensors *t) {
    const double dst_rounding = c->dst == zemm_f16 ? 0x1p-11 : c->dst == zemm_bf16 ? 0x1p-8 : 0x1p-24;
    uint32_t state = 1;
    for (int i = 0; i < checked_elements; i++) {
        const zemm_dim_t row = i ? random_below(&state, c->m) : c->m - 1;
        const zemm_dim_t column = i ? random_below(&state, c->n) : c->n - 1;
        double want = 0, magnitude = 0;
        for (zemm_dim_t k = 0; k < c->k; k++) {
            double s = tensor_get(&t->src, row, k), w = tensor_get(&t->wei, k, column);
            const zemm_dim_t wei_row = c->attributes == per_column ? 0 : k / group;
            if (t->wei_scales.data)
                w = (w - tensor_get(&t->wei_zero_points, wei_row, column)) *
                    tensor_get(&t->wei_scales, wei_row, column);
            if (t->src_scales.data)
                s *= tensor_get(&t->src_scales, row, k / group);
            want += s * w;
            magnitude += fabs(s * w);
        }
        const double got = tensor_get(&t->dst, row, column);
        if (!(fabs(got - want) <= dst_rounding * fabs(want) + 0x1p-24 * (double)c->k * magnitude)) {
            printf("%s: element [%d, %d] is %g, not %g\n", c->name, (int)row, (int)column, got, want);
            return 0;
        }
    }
    return 1;
}

static zemm_memory_t memory(const_zemm_memory_desc_t md, void *data) {
    zemm_memory_t result;
    CHECK(zemm_memory_create(&result, md, engine, data));
    return result;
}

static zemm_memory_desc_t describe(const struct tensor *t, zemm_format_tag_t tag) {
    const zemm_dims_t dims = {t->rows, t->columns};
    zemm_memory_desc_t md;
    CHECK(zemm_memory_desc_create_with_tag(&md, 2, dims, t->type, tag));
    return md;
}

/* Brings plain weights into the layout `to`, in memory of its own, which *data names. */
static zemm_memory_t reordered(const struct tensor *wei, const_zemm_memory_desc_t to, void **data) {
    const zemm_memory_desc_t from = describe(wei, zemm_ab);
    zemm_primitive_desc_t pd;
    zemm_primitive_t reorder;
    *data = allocate(zemm_memory_desc_get_size(to));
    const zemm_memory_t result = memory(to, *data), plain = memory(from, wei->data);
    const zemm_exec_arg_t args[] = {{ZEMM_ARG_FROM, plain}, {ZEMM_ARG_TO, result}};
    CHECK(zemm_reorder_primitive_desc_create(&pd, from, engine, to, engine, NULL));
    CHECK(zemm_primitive_create(&reorder, pd));
    CHECK(zemm_primitive_execute(reorder, stream, 2, args));
    CHECK(zemm_stream_wait(stream));
    CHECK(zemm_primitive_destroy(reorder));
    CHECK(zemm_primitive_desc_destroy(pd));
    CHECK(zemm_memory_destroy(plain));
    CHECK(zemm_memory_desc_destroy(from));
    return result;
}

/* Runs the matmul for `seconds`, at least some times, and returns the number of times taken. */
static int measure(zemm_primitive_t matmul, int nargs, const zemm_exec_arg_t *args, double seconds,
                   double *times) {
    int count = -1; /* the first run is not timed */
    for (double end = 0; count < least_runs || (count < most_runs && now_ms() < end); count++) {
        const double start = now_ms();
        CHECK(zemm_primitive_execute(matmul, stream, nargs, args));
        CHECK(zemm_stream_wait(stream));
        if (count >= 0)
            times[count] = now_ms() - start;
        else
            end = now_ms() + seconds * 1e3;
    }
    qsort(times, (size_t)count, sizeof *times, order);
    return count;
}

/* times are sorted; bytes are those of all tensors. */
static void print_line(const struct timed_case *c, zemm_primitive_t matmul, const double *times, int count,
                       double bytes, int right) {
    /* The primitive's own descriptor: another kernel than planned may run after a failed build. */
    const_zemm_primitive_desc_t pd;
    const char *kernel;
    CHECK(zemm_primitive_get_primitive_desc(matmul, &pd));
    CHECK(zemm_primitive_desc_query(pd, zemm_query_impl_info_str, 0, &kernel));
    char shape[64], types[64];
    snprintf(shape, sizeof shape, "%dx%dx%d", (int)c->m, (int)c->k, (int)c->n);
    snprintf(types, sizeof types, "%s:%s:%s", zemm_dt2str(c->src), zemm_dt2str(c->wei), zemm_dt2str(c->dst));
    const double work = 2.0 * (double)c->m * (double)c->k * (double)c->n;
    printf("%-22s %-15s %-15s %-4s %-12s %9.3f %9.3f %8.0f %7.1f  %s%s\n", c->name, shape, types,
           zemm_fmt_tag2str(c->tag), attribute_names[c->attributes], times[0], times[count / 2],
           work / times[0] * 1e-6, bytes / times[0] * 1e-6, kernel, right ? "" : "  WRONG");
    fflush(stdout);
}

/* Times a case and prints its line. Returns whether its result is right. */
static int run(const struct timed_case *c, double seconds) {
    static double times[most_runs];
    struct tensors t = make_tensors(c);
    const zemm_memory_desc_t src = describe(&t.src, zemm_ab), wei = describe(&t.wei, c->tag),
                             dst = describe(&t.dst, zemm_ab);
    const zemm_primitive_attr_t attr = make_attr(c->attributes);
    zemm_primitive_desc_t pd;
    zemm_primitive_t matmul;
    CHECK(zemm_matmul_primitive_desc_create(&pd, engine, src, wei, NULL, dst, attr));
    CHECK(zemm_primitive_create(&matmul, pd));

    const struct {
        int arg;
        struct tensor *tensor;
    } inputs[] = {
        {ZEMM_ARG_SRC, &t.src},
        {ZEMM_ARG_WEIGHTS, &t.wei},
        {ZEMM_ARG_DST, &t.dst},
        {ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_SRC, &t.src_scales},
        {ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS | ZEMM_ARG_SRC, &t.reductions},
        {ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_WEIGHTS, &t.wei_scales},
        {ZEMM_ARG_ATTR_ZERO_POINTS | ZEMM_ARG_WEIGHTS, &t.wei_zero_points},
    };
    enum { most_args = sizeof inputs / sizeof *inputs };
    zemm_exec_arg_t args[most_args];
    int nargs = 0;
    double bytes = 0;
    void *packed = NULL;
    for (int i = 0; i < most_args; i++) {
        const int arg = inputs[i].arg;
        if (!inputs[i].tensor->data)
            continue;
        const const_zemm_memory_desc_t md = zemm_primitive_desc_query_md(pd, zemm_query_exec_arg_md, arg);
        bytes += (double)zemm_memory_desc_get_size(md);
        args[nargs].arg = arg;
        args[nargs++].memory = arg == ZEMM_ARG_WEIGHTS && c->tag == zemm_format_tag_any
                                   ? reordered(&t.wei, md, &packed)
                                   : memory(md, inputs[i].tensor->data);
    }
    const int count = measure(matmul, nargs, args, seconds, times);
    const int right = is_right(c, &t);

    print_line(c, matmul, times, count, bytes, right);

    for (int i = 0; i < nargs; i++)
        CHECK(zemm_memory_destroy(args[i].memory));
    CHECK(zemm_primitive_destroy(matmul));
    CHECK(zemm_primitive_desc_destroy(pd));
    CHECK(zemm_primitive_attr_destroy(attr));
    CHECK(zemm_memory_desc_destroy(src));
    CHECK(zemm_memory_desc_destroy(wei));
    CHECK(zemm_memory_desc_destroy(dst));
    free(packed);
    free_tensors(&t);
    return right;
}

static const struct timed_case *find(const char *name) {
    for (int i = 0; i < case_count; i++)
        if (strcmp(cases[i].name, name) == 0)
            return &cases[i];
    fprintf(stderr, "zemm_time: no case is named \"%s\"; zemm_time -l lists them\n", name);
    exit(2);
}

static void usage(FILE *to) {
    fprintf(to, "usage: zemm_time [-l] [-s SECONDS] [CASE ...]\n"
                "Times matmuls on the CPU device, by default all cases, and checks some elements of each\n"
                "result. Times are of the host's clock around one execution, submitted and waited for.\n"
                "All cores are used; taskset limits them.\n"
                "  -l          list the cases\n"
                "  -s SECONDS  time of each case, 2 if not given\n"
                "The exit code is 1 if a result was wrong or something failed.\n");
}

/* The features of a CPU device that its processor has: without those of GPUs, which stand last. */
static void print_features(const char *features) {
    static const char *const of_gpus[] = {
#define ZEMM_XE_ISA(name, needs) #name,
#include "lists/isa.def"
    };
    const char *end = features + strlen(features);
    for (size_t i = 0; i < sizeof(of_gpus) / sizeof(*of_gpus); i++) {
        const char *found = strstr(features, of_gpus[i]);
        end = found && found < end ? found : end;
    }
    printf("%.*s\n", (int)(end > features ? end - features - (end[-1] == ',') : 0), features);
}

int main(int argc, char **argv) {
    double seconds = 2;
    char *end;
    for (int option; (option = getopt(argc, argv, "hls:")) != -1;) {
        switch (option) {
        case 'l':
            for (int i = 0; i < case_count; i++)
                puts(cases[i].name);
            return 0;
        case 's':
            seconds = strtod(optarg, &end);
            if (*end || end == optarg || !(seconds >= 0)) {
                fprintf(stderr, "zemm_time: -s wants a number of seconds, not \"%s\"\n", optarg);
                return 2;
            }
            break;
        default:
            usage(option == 'h' ? stdout : stderr);
            return option == 'h' ? 0 : 2;
        }
    }
    for (int i = optind; i < argc; i++)
        find(argv[i]); /* a wrong name ends the program before the first measurement */
    const char *name, *features;
    CHECK(zemm_engine_create(&engine, zemm_cpu, 0));
    CHECK(zemm_stream_create(&stream, engine, zemm_stream_default_flags));
    CHECK(zemm_engine_get_name(engine, &name));
    CHECK(zemm_engine_get_features(engine, &features));
    printf("%s\n", name);
    print_features(features);
    printf("%-22s %-15s %-15s %-4s %-12s %9s %9s %8s %7s  %s\n", "case", "MxKxN", "src:wei:dst", "wei",
           "attributes", "best ms", "median ms", "GOPS", "GB/s", "kernel");
    int wrong = 0;
    if (optind == argc)
        for (int i = 0; i < case_count; i++)
            wrong += !run(&cases[i], seconds);
    for (int i = optind; i < argc; i++)
        wrong += !run(find(argv[i]), seconds);
    CHECK(zemm_stream_destroy(stream));
    CHECK(zemm_engine_destroy(engine));
    return wrong ? 1 : 0;
}
