// SPDX-License-Identifier: Apache-2.0
// Compares where the elements of two descriptors lie.
#include <algorithm>
#include <tuple>
#include <vector>

#include "common/md_check.hpp"
#include "common/memory_desc.hpp"

namespace zemm {

namespace {

struct axis {
    zemm_dim_t dim, padded_dim, stride;
    std::vector<zemm_dim_t> blocks; // the level and the size of each inner block of the dimension
    auto operator<=>(const axis &) const = default;
};
using axes = std::vector<axis>;

// The dimensions without those of a single element, whose strides are never used.
axes axes_of(const memory_desc &md) {
    axes result;
    for (int d = 0; d < md.ndims; ++d) {
        if (md.dims[d] == 1 && md.padded_dims[d] == 1)
            continue;
        axis &a = result.emplace_back(axis{md.dims[d], md.padded_dims[d], md.strides[d], {}});
        for (int level = 0; level < md.inner_nblks; ++level)
            if (md.inner_idxs[level] == d)
                a.blocks.insert(a.blocks.end(), {level, md.inner_blks[level]});
    }
    return result;
}

bool have_same_dims(const axes &a, const axes &b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const axis &x, const axis &y) { return x.dim == y.dim; });
}

// Orders the dimensions by their strides, the largest first. Without blocks, it joins dimensions whose
// elements follow on one another.
axes sorted(axes list) {
    std::sort(list.begin(), list.end(), [](const axis &x, const axis &y) {
        return std::tie(y.stride, y.dim, y.blocks) < std::tie(x.stride, x.dim, x.blocks);
    });
    const bool has_blocks =
        std::any_of(list.begin(), list.end(), [](const axis &a) { return !a.blocks.empty(); });
    if (has_blocks)
        return list;
    axes joined;
    for (const axis &a : list) {
        if (!joined.empty() && joined.back().stride == a.stride * a.dim) {
            joined.back() = {
                joined.back().dim * a.dim, joined.back().padded_dim * a.padded_dim, a.stride, {}};
            continue;
        }
        joined.push_back(a);
    }
    return joined;
}

} // namespace

bool md_same_places(const memory_desc &a, const memory_desc &b) {
    if (a.format_kind != zemm_blocked || b.format_kind != zemm_blocked || a.data_type != b.data_type ||
        a.offset0 != b.offset0 || md_has_runtime(a) || md_has_runtime(b) || md_nelems(a) != md_nelems(b))
        return false;
    const axes of_a = axes_of(a), of_b = axes_of(b);
    // Equal dims in another order of the memory are another layout, and not a permutation.
    return have_same_dims(of_a, of_b) ? of_a == of_b : sorted(of_a) == sorted(of_b);
}

} // namespace zemm
