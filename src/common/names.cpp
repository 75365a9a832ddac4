// SPDX-License-Identifier: Apache-2.0
// The names of enum values.
#include "common/names.hpp"

#include <iterator>

namespace zemm {

namespace {

struct row {
    int value;
    const char *name;
};

// <enum>_rows and format_tag_names. The build makes them from the public header.
#include "names.inc"
static_assert(std::size(format_tag_names) == zemm_format_tag_last);
constexpr row known_types[] = {
    {zemm_data_type_undef, "undef"},
#define ZEMM_TYPE(name, NAME, number, bits) {zemm_##name, #name},
#define ZEMM_COPIED_TYPE(name, number, bits, kind) {zemm_##name, #name},
#define ZEMM_NO_ELEMENT(name, number, bits, text) {zemm_##name, text},
#include "lists/types.def"
};
constexpr row runtimes[] = {
    {ZEMM_RUNTIME_NONE, "none"}, {ZEMM_RUNTIME_SEQ, "sequential"},        {ZEMM_RUNTIME_OMP, "OpenMP"},
    {ZEMM_RUNTIME_TBB, "TBB"},   {ZEMM_RUNTIME_THREADPOOL, "threadpool"}, {ZEMM_RUNTIME_OCL, "OpenCL"},
    {ZEMM_RUNTIME_SYCL, "SYCL"}, {ZEMM_RUNTIME_ZE, "Level Zero"}};

template <size_t n> const char *find(const row (&rows)[n], int value, const char *unknown) {
    for (const row &r : rows)
        if (r.value == value)
            return r.name;
    return unknown;
}

} // namespace

#define NAME(type, unknown)                                                                                  \
    const char *type##_name(zemm_##type##_t v) { return find(type##_rows, v, "unknown " unknown); }
NAME(status, "status")
NAME(format_kind, "fmt_kind")
NAME(sparse_encoding, "sparse_encoding")
NAME(engine_kind, "engine_kind")
NAME(fpmath_mode, "fpmath_mode")
NAME(accumulation_mode, "accumulation_mode")
NAME(scratchpad_mode, "scratchpad_mode")
NAME(rounding_mode, "rounding_mode")
NAME(quantization_mode, "quantization_mode")
NAME(prop_kind, "prop_kind")
NAME(primitive_kind, "prim_kind")
NAME(alg_kind, "alg_kind")
#undef NAME

const char *data_type_name(zemm_data_type_t v) {
    return find(known_types, v, "unknown dt");
}
const char *format_tag_name(zemm_format_tag_t v) {
    return is_known(v) ? format_tag_names[v] : "unknown fmt_tag";
}
const char *runtime_name(unsigned v) {
    return find(runtimes, int(v), "unknown runtime");
}

#define KNOWN(type)                                                                                          \
    bool is_known(zemm_##type##_t v) { return find(type##_rows, v, nullptr); }
KNOWN(fpmath_mode)
KNOWN(accumulation_mode)
KNOWN(scratchpad_mode)
KNOWN(rounding_mode)
#undef KNOWN

bool is_known(zemm_format_tag_t v) {
    return v >= 0 && v < zemm_format_tag_last;
}

} // namespace zemm
