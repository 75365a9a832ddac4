// SPDX-License-Identifier: Apache-2.0
// Parses and writes format tags, and converts between layouts and descriptors.
#include "common/layout.hpp"

#include <algorithm>

#include "common/error.hpp"
#include "common/md_check.hpp"

namespace zemm {

namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_lower(char c) {
    return c >= 'a' && c < 'a' + ZEMM_MAX_NDIMS;
}
bool is_upper(char c) {
    return c >= 'A' && c < 'A' + ZEMM_MAX_NDIMS;
}

[[noreturn]] void refuse(const char *caller, const char *tag, const char *why) {
    fail(zemm_invalid_arguments, "%s: tag \"%.64s\" %s", caller, tag, why);
}

// Parses one block, such as "16b", and moves text behind it.
void parse_block(const char *caller, const char *tag, const char *&text, layout &l) {
    zemm_dim_t size = 0;
    while (is_digit(*text)) {
        size = size * 10 + (*text++ - '0');
        if (size > 4096)
            refuse(caller, tag, "has a block of more than 4096 elements");
    }
    if (size < 1 || !is_lower(*text))
        refuse(caller, tag, "has a block without a size or a letter");
    if (l.nblks == ZEMM_MAX_NDIMS)
        refuse(caller, tag, "has too many blocks");
    l.blks[l.nblks] = size;
    l.idxs[l.nblks++] = *text++ - 'a';
}

} // namespace

layout parse_layout(const char *caller, const char *tag) {
    layout l;
    bool seen[ZEMM_MAX_NDIMS] = {}, upper[ZEMM_MAX_NDIMS] = {}, blocked[ZEMM_MAX_NDIMS] = {};
    const char *text = tag;
    while (is_lower(*text) || is_upper(*text)) {
        const bool big = is_upper(*text);
        const int d = *text++ - (big ? 'A' : 'a');
        if (seen[d])
            refuse(caller, tag, "names a dimension twice");
        seen[d] = true;
        upper[d] = big;
        l.order[l.ndims++] = d;
    }
    if (l.ndims == 0)
        refuse(caller, tag, "starts with no dimension");
    for (int d = 0; d < l.ndims; d++)
        if (!seen[d])
            refuse(caller, tag, "leaves a dimension out");
    while (*text)
        parse_block(caller, tag, text, l);
    zemm_dim_t total = 1;
    for (int i = 0; i < l.nblks; i++) {
        if (l.idxs[i] >= l.ndims)
            refuse(caller, tag, "blocks a dimension that it does not have");
        blocked[l.idxs[i]] = true;
        total *= l.blks[i];
        if (total > 1 << 24)
            refuse(caller, tag, "has too large a block");
    }
    for (int d = 0; d < l.ndims; d++)
        if (upper[d] != blocked[d])
            refuse(caller, tag, "must have capitals for exactly the blocked dimensions");
    return l;
}

std::string layout_text(const layout &l) {
    std::string result;
    for (int i = 0; i < l.ndims; i++) {
        const bool blocked = std::count(l.idxs, l.idxs + l.nblks, l.order[i]);
        result += char((blocked ? 'A' : 'a') + l.order[i]);
    }
    for (int i = 0; i < l.nblks; i++)
        result += std::to_string(l.blks[i]) + char('a' + l.idxs[i]);
    return result;
}

void apply_layout(const char *caller, memory_desc &md, const layout &l) {
    if (l.ndims != md.ndims)
        fail(zemm_invalid_arguments, "%s: tag \"%s\" has %d dimensions, ndims is %d", caller,
             layout_text(l).c_str(), l.ndims, md.ndims);
    md.format_kind = zemm_blocked;
    md.inner_nblks = l.nblks;
    std::copy_n(l.blks, l.nblks, md.inner_blks);
    std::copy_n(l.idxs, l.nblks, md.inner_idxs);
    const blocks b = md_blocks(md);
    zemm_dim_t stride = b.total;
    for (int i = md.ndims - 1; i >= 0; i--) {
        const int d = l.order[i];
        md.strides[d] = stride;
        if (md.dims[d] == runtime_dim) {
            md.padded_dims[d] = stride = runtime_dim;
            continue;
        }
        const zemm_dim_t count = md.dims[d] / b.of[d] + (md.dims[d] % b.of[d] != 0);
        md.padded_dims[d] = checked_mul(caller, count, b.of[d]);
        if (stride != runtime_dim)
            stride = checked_mul(caller, stride, std::max<zemm_dim_t>(count, 1));
    }
}

layout layout_of(const memory_desc &md) {
    layout l;
    l.ndims = md.ndims;
    for (int d = 0; d < md.ndims; d++)
        l.order[d] = d;
    // With equal strides, one of the two dimensions has a single block, so that both orders name
    // the same bytes. Tags with blocks put the dimension of the first inner block innermost
    // (BA16a64b4a, AB16b16a, aCB16b16c), so prefer that order.
    const int first_blocked = md.inner_nblks ? int(md.inner_idxs[0]) : -1;
    const auto outer = [&](int x, int y) {
        const zemm_dim_t a = md.strides[x], b = md.strides[y];
        if (a == b)
            return y == first_blocked && x != y;
        if (a == runtime_dim || b == runtime_dim)
            return a == runtime_dim;
        return a > b;
    };
    std::stable_sort(l.order, l.order + l.ndims, outer);
    l.nblks = md.inner_nblks;
    std::copy_n(md.inner_blks, l.nblks, l.blks);
    std::copy_n(md.inner_idxs, l.nblks, l.idxs);
    return l;
}

} // namespace zemm
