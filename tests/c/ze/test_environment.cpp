// SPDX-License-Identifier: Apache-2.0
// The environment variables, which are read at their first use, and the lines of the log.
#include <fstream>
#include <iterator>

#include <unistd.h>

#include "zemm_test.hpp"

namespace {

char path[] = "/tmp/zemm_log_XXXXXX";

// The contents of the log so far.
std::string log() {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

int count(const std::string &text, const char *part) {
    int found = 0;
    for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at++)
        found++;
    return found;
}

zemm_status_t call_without_dims() {
    zemm_memory_desc_t none = nullptr;
    return zemm_memory_desc_create_with_tag(&none, 2, nullptr, zemm_f32, zemm_ab);
}

} // namespace

int main() {
    const zemm_dims_t dims = {2, 3, 4};
    zemm_memory_desc_t none = nullptr;
    int number = 0;
    CHECK(mkstemp(path) >= 0);
    setenv("ZEMM_VERBOSE", "check,nonsense,dispatch", 1);
    setenv("ZEMM_VERBOSE_TIMESTAMP", "1", 1);
    setenv("ZEMM_PRIMITIVE_CACHE_CAPACITY", "33", 1);
    setenv("ZEMM_DEFAULT_FPMATH_MODE", "tf32", 1);
    CHECK(freopen(path, "w", stdout));
    CHECK(got(zemm_get_primitive_cache_capacity) == 33);
    CHECK(got(zemm_get_default_fpmath_mode) == zemm_fpmath_mode_tf32);
    CHECK(log().empty());

    INVALID("dims", call_without_dims());
    std::string text = log();
    CHECK(count(text, "\n") == 4); // two header lines, the warning and the reason
    CHECK(count(text, ",common,warn,ZEMM_VERBOSE: \"nonsense\" is no word for it") == 1);
    CHECK(text.starts_with("zemm_verbose,v1,") && text[16] >= '1' && text[16] <= '9'); // the time
    CHECK(count(text, ",info,zemm v0.1.0 (commit N/A)\n") == 1);
    CHECK(count(text, ",primitive,info,template:operation,engine,primitive,implementation,") == 1);
    CHECK(count(text, ",primitive,create:check,invalid_arguments,zemm_memory_desc_create_with_tag: dims") ==
          1);

    UNIMPLEMENTED("ndims", zemm_memory_desc_create_with_coo_encoding(&none, 3, dims, zemm_f32, 1, zemm_s32));
    text = log();
    CHECK(count(text, "\n") == 5 && count(text, ",primitive,create:dispatch,unimplemented,") == 1);

    // A refused query is an answer, of which the log has no line.
    const auto md = tagged({2, 3, 4}, zemm_f32, zemm_abc);
    INVALID("format sparse", zemm_memory_desc_query(md, zemm_query_nnz_s64, &number));
    UNIMPLEMENTED("query", zemm_memory_desc_query(md, zemm_query_engine, &number));
    INVALID("primitive_desc", zemm_primitive_desc_query(nullptr, zemm_query_engine, 0, &number));
    CHECK(!zemm_primitive_desc_query_md(nullptr, zemm_query_src_md, 0) &&
          !zemm_primitive_desc_query_s32(nullptr, zemm_query_num_of_inputs_s32, 0));
    CHECK(count(log(), "\n") == 5);

    const auto list = made(zemm_post_ops_create);
    for (int i = 0; i < 32; i++)
        OK(zemm_post_ops_append_prelu(list, 0));
    const auto overflow = [&] { REFUSED(zemm_out_of_memory, "", zemm_post_ops_append_prelu(list, 0)); };
    overflow();
    text = log();
    CHECK(count(text, "\n") == 6 && count(text, ",primitive,error,out_of_memory,") == 1);

    OK(zemm_set_verbose(0));
    overflow();
    INVALID("", call_without_dims());
    OK(zemm_set_verbose(1)); // errors, except those that are the caller's fault
    INVALID("", call_without_dims());
    CHECK(count(log(), "\n") == 6);
    overflow();
    CHECK(count(log(), "\n") == 7);
    unlink(path);
}
