/* SPDX-License-Identifier: Apache-2.0 */
/* The environment variables, which are read at their first use, and the lines of the log. */
#define _POSIX_C_SOURCE 200809L

#include "refusals.h"

static char text[8192];

/* The contents of the file so far. */
static const char *log_text(const char *path) {
    FILE *file = fopen(path, "r");
    CHECK(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    return text;
}

static int count(const char *haystack, const char *needle) {
    int found = 0;
    for (; (haystack = strstr(haystack, needle)); haystack++)
        found++;
    return found;
}

int main(void) {
    char path[] = "/tmp/zemm_log_XXXXXX";
    zemm_memory_desc_t md;
    zemm_post_ops_t list;
    zemm_fpmath_mode_t mode = zemm_fpmath_mode_strict;
    const zemm_dims_t dims = {2, 3, 4};
    int capacity = 0, descriptor = mkstemp(path);
    CHECK(descriptor >= 0);
    setenv("ZEMM_VERBOSE", "check,nonsense,dispatch", 1);
    setenv("ZEMM_VERBOSE_TIMESTAMP", "1", 1);
    setenv("ZEMM_PRIMITIVE_CACHE_CAPACITY", "33", 1);
    setenv("ZEMM_DEFAULT_FPMATH_MODE", "tf32", 1);
    CHECK(freopen(path, "w", stdout));

    OK(zemm_get_primitive_cache_capacity(&capacity));
    CHECK(capacity == 33);
    OK(zemm_get_default_fpmath_mode(&mode));
    CHECK(mode == zemm_fpmath_mode_tf32);

    CHECK(!strcmp(log_text(path), ""));
    INVALID("dims", zemm_memory_desc_create_with_tag(&md, 2, NULL, zemm_f32, zemm_ab));
    const char *log = log_text(path);
    CHECK(count(log, "\n") == 4); /* two header lines, the warning and the reason */
    CHECK(count(log, ",common,warn,ZEMM_VERBOSE: \"nonsense\" is no word for it") == 1);
    CHECK(!strncmp(log, "zemm_verbose,v1,", 16) && log[16] >= '1' && log[16] <= '9'); /* the time */
    CHECK(count(log, ",info,zemm v0.1.0 (commit N/A)\n") == 1);
    CHECK(count(log, ",primitive,info,template:operation,engine,primitive,implementation,") == 1);
    CHECK(count(log, ",primitive,create:check,invalid_arguments,zemm_memory_desc_create_with_tag: dims") ==
          1);

    UNIMPLEMENTED("ndims", zemm_memory_desc_create_with_coo_encoding(&md, 3, dims, zemm_f32, 1, zemm_s32));
    log = log_text(path);
    CHECK(count(log, "\n") == 5 && count(log, ",primitive,create:dispatch,unimplemented,") == 1);

    /* a refused query is an answer, of which the log has no line */
    OK(zemm_memory_desc_create_with_tag(&md, 3, dims, zemm_f32, zemm_abc));
    INVALID("format sparse", zemm_memory_desc_query(md, zemm_query_nnz_s64, &capacity));
    UNIMPLEMENTED("query", zemm_memory_desc_query(md, zemm_query_engine, &capacity));
    OK(zemm_memory_desc_destroy(md));
    INVALID("primitive_desc", zemm_primitive_desc_query(NULL, zemm_query_engine, 0, &capacity));
    CHECK(!zemm_primitive_desc_query_md(NULL, zemm_query_src_md, 0) &&
          !zemm_primitive_desc_query_s32(NULL, zemm_query_num_of_inputs_s32, 0));
    CHECK(count(log_text(path), "\n") == 5);

    OK(zemm_post_ops_create(&list));
    for (int i = 0; i < 32; i++)
        OK(zemm_post_ops_append_prelu(list, 0));
    CHECK(zemm_post_ops_append_prelu(list, 0) == zemm_out_of_memory);
    log = log_text(path);
    CHECK(count(log, "\n") == 6 && count(log, ",primitive,error,out_of_memory,") == 1);

    OK(zemm_set_verbose(0));
    CHECK(zemm_post_ops_append_prelu(list, 0) == zemm_out_of_memory);
    CHECK(zemm_memory_desc_create_with_tag(&md, 2, NULL, zemm_f32, zemm_ab) == zemm_invalid_arguments);
    OK(zemm_set_verbose(1)); /* errors, except those that are the caller's fault */
    CHECK(zemm_memory_desc_create_with_tag(&md, 2, NULL, zemm_f32, zemm_ab) == zemm_invalid_arguments);
    CHECK(count(log_text(path), "\n") == 6);
    CHECK(zemm_post_ops_append_prelu(list, 0) == zemm_out_of_memory);
    CHECK(count(log_text(path), "\n") == 7);
    OK(zemm_post_ops_destroy(list));
    CHECK(remove(path) == 0);
    return 0;
}
