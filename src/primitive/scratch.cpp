// SPDX-License-Identifier: Apache-2.0
#include "primitive/scratch.hpp"

namespace zemm {

namespace {

constexpr size_t alignment = 64; // bytes: a cache line

size_t aligned(size_t value) {
    return (value + alignment - 1) / alignment * alignment;
}

} // namespace

size_t scratch::take(size_t bytes) {
    const size_t at = aligned(size_);
    size_ = at + bytes;
    return at;
}

// The caller's scratchpad may start anywhere, so there is room to align it.
memory_desc scratchpad_md(const zemm_primitive_attr &attr, size_t size) {
    if (attr.scratchpad_mode != zemm_scratchpad_mode_user || size == 0)
        return {};
    const zemm_dim_t dim = zemm_dim_t(size + alignment - 1);
    return md_with_tag(1, &dim, zemm_u8, zemm_a);
}

char *scratchpad_of(const zemm_primitive_desc &pd, ze::stream &stream, const bound_arguments &bound) {
    if (pd.scratchpad_size == 0)
        return nullptr;
    if (md_is_zero(pd.scratchpad))
        return static_cast<char *>(stream.scratchpad(pd.scratchpad_size));
    return reinterpret_cast<char *>(aligned(bound.address(ZEMM_ARG_SCRATCHPAD)));
}

} // namespace zemm
