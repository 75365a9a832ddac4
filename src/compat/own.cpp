// SPDX-License-Identifier: Apache-2.0
// Functions of oneDNN about the library itself (the version, the log, the instruction set), and those
// that answer in another way than their namesakes in zemm.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <string_view>

#include "api/compat.hpp"

namespace {

// Runs when the library is loaded, before the program calls any function of it.
[[gnu::constructor]] void speak_as_onednn() {
    zemm_compat_speak_as_onednn();
}

struct name {
    int value;
    const char *text;
};
constexpr name cpu_isas[] = {
    {0x0, "cpu_isa_default"},
    {0x1, "cpu_isa_sse41"},
    {0x3, "cpu_isa_avx"},
    {0x7, "cpu_isa_avx2"},
    {0xf, "cpu_isa_avx2_vnni"},
    {0x1f, "cpu_isa_avx2_vnni_2"},
    {0x27, "cpu_isa_avx512_core"},
    {0x67, "cpu_isa_avx512_core_vnni"},
    {0xe7, "cpu_isa_avx512_core_bf16"},
    {0x1ef, "cpu_isa_avx10_1_512"},
    {0xfef, "cpu_isa_avx10_1_512_amx"},
    {0x1fef, "cpu_isa_avx10_1_512_amx_fp16"},
    {0x201ff, "cpu_isa_avx10_2"},
    {0x22fff, "cpu_isa_avx10_2_amx_2"},
    {0xa03ff, "cpu_isa_avx10_2_ace"},
};
constexpr name cpu_isa_hints[] = {{0, "cpu_isa_no_hints"}, {1, "cpu_isa_prefer_ymm"}};
constexpr name rnn_flags[] = {{0, "undef"}, {1, "rnn_flags_diff_weights_overwrite"}};
constexpr name rnn_directions[] = {{0, "undef"},
                                   {1, "unidirectional_left2right"},
                                   {2, "unidirectional_right2left"},
                                   {3, "bidirectional_concat"},
                                   {4, "bidirectional_sum"}};

template <size_t count> const char *find(const name (&names)[count], int value, const char *unknown) {
    for (const name &n : names)
        if (n.value == value)
            return n.text;
    return unknown;
}

int isa_of(std::string_view name) {
    constexpr std::string_view prefix = "cpu_isa_";
    for (const auto &[value, text] : cpu_isas)
        if (std::string_view(text).substr(prefix.size()) == name)
            return value;
    return 0;
}

// features: their names, with commas between them.
bool has(std::string_view features, std::string_view name) {
    while (!features.empty()) {
        const std::string_view first = features.substr(0, features.find(','));
        if (first == name)
            return true;
        features.remove_prefix(std::min(first.size() + 1, features.size()));
    }
    return false;
}

int isa_with(const char *features) {
    if (has(features, "amx_int8") && has(features, "amx_bf16"))
        return isa_of("avx10_1_512_amx");
    if (has(features, "avx512"))
        return isa_of(has(features, "avx512_vnni") ? "avx512_core_vnni" : "avx512_core");
    if (has(features, "avx2"))
        return isa_of(has(features, "avx_vnni") ? "avx2_vnni" : "avx2");
    return isa_of("sse41");
}

std::atomic<int> hints{0};

// The index for a query. oneDNN has no descriptors of scales, zero points, reductions and slopes of
// prelu, where zemm has some: for these it is the index of no argument.
int index_for(zemm_query_t what, int index) {
    constexpr int flags =
        ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_ATTR_ZERO_POINTS | ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS;
    if (what != zemm_query_exec_arg_md || index < 0)
        return index;
    const bool is_post_op = index >= ZEMM_ARG_ATTR_MULTIPLE_POST_OP_BASE;
    const bool is_slopes = is_post_op && index % ZEMM_ARG_ATTR_MULTIPLE_POST_OP_BASE == ZEMM_ARG_WEIGHTS;
    return is_slopes || (!is_post_op && (index & flags)) ? -1 : index;
}

} // namespace

extern "C" {

// The release whose functions and rules zemm has, so that programs see what they can call. The hash
// names the library that answers.
const zemm_version_t ZEMM_API *dnnl_version(void) {
    static const struct own_version {
        char hash[40];
        zemm_version_t version;
        own_version() {
            const zemm_version_t &v = *zemm_version();
            std::snprintf(hash, sizeof hash, "zemm %d.%d.%d", v.major, v.minor, v.patch);
            version = {3, 14, 0, hash, v.cpu_runtime, v.gpu_runtime};
        }
    } own;
    return &own.version;
}

// On CPU engines the results are there when the call returns, as in oneDNN, whose programs may read
// them without dnnl_stream_wait().
zemm_status_t ZEMM_API dnnl_primitive_execute(const_zemm_primitive_t primitive, zemm_stream_t stream,
                                              int nargs, const zemm_exec_arg_t *args) {
    const zemm_status_t status = zemm_primitive_execute(primitive, stream, nargs, args);
    zemm_engine_t engine = nullptr;
    zemm_engine_kind_t kind = zemm_any_engine;
    if (status != zemm_success || zemm_stream_get_engine(stream, &engine) != zemm_success ||
        zemm_engine_get_kind(engine, &kind) != zemm_success || kind != zemm_cpu)
        return status;
    return zemm_stream_wait(stream);
}

zemm_status_t ZEMM_API dnnl_primitive_desc_query(const_zemm_primitive_desc_t pd, zemm_query_t what, int index,
                                                 void *result) {
    return zemm_primitive_desc_query(pd, what, index_for(what, index), result);
}
const_zemm_memory_desc_t ZEMM_API dnnl_primitive_desc_query_md(const_zemm_primitive_desc_t pd,
                                                               zemm_query_t what, int index) {
    return zemm_primitive_desc_query_md(pd, what, index_for(what, index));
}

// Programs of oneDNN up to 3.13 may ask whether the log has execution times.
zemm_status_t ZEMM_API dnnl_verbose_profiling_enabled(int *enabled) {
    if (!enabled)
        return zemm_compat_refuse(zemm_invalid_arguments, "enabled is NULL");
    *enabled = zemm_compat_logs_executions();
    return zemm_success;
}

// The best instruction set that zemm's kernels use on this CPU.
int ZEMM_API dnnl_get_effective_cpu_isa(void) {
    zemm_engine_t engine = nullptr;
    if (zemm_engine_create(&engine, zemm_cpu, 0) != zemm_success)
        return isa_of("default");
    const char *features = "";
    zemm_engine_get_features(engine, &features);
    const int isa = isa_with(features);
    zemm_engine_destroy(engine);
    return isa;
}

// Hints have no effect, but programs may read what they have set.
zemm_status_t ZEMM_API dnnl_set_cpu_isa_hints(int wanted) {
    if (wanted != 0 && wanted != 1)
        return zemm_compat_refuse(zemm_invalid_arguments,
                                  "dnnl_set_cpu_isa_hints: the hints are neither no_hints nor prefer_ymm");
    hints = wanted;
    return zemm_success;
}
int ZEMM_API dnnl_get_cpu_isa_hints(void) {
    return hints;
}

const char ZEMM_API *dnnl_cpu_isa2str(int v) {
    return find(cpu_isas, v, "unknown cpu_isa");
}
const char ZEMM_API *dnnl_cpu_isa_hints2str(int v) {
    return find(cpu_isa_hints, v, "unknown cpu_isa_hints");
}
const char ZEMM_API *dnnl_rnn_flags2str(int v) {
    return find(rnn_flags, v, "unknown rnn_flags");
}
const char ZEMM_API *dnnl_rnn_direction2str(int v) {
    return find(rnn_directions, v, "unknown rnn_direction");
}
}
