// SPDX-License-Identifier: Apache-2.0
#include "matmul/plan/group_table.hpp"

#include <algorithm>
#include <cstring>

#include "common/error.hpp"
#include "ze/buffer.hpp"

namespace zemm::matmul {

namespace {

using kernels::group_part;

int32_t begin_of(const group_ends &ends, size_t group) {
    return group == 0 ? 0 : ends[group - 1];
}

} // namespace

group_ends read_ends(const std::string &name, const zemm_memory &memory) {
    const memory_desc &md = memory.md;
    group_ends ends(size_t(md.group_count));
    ze::copy_now(*memory.engine->device, ends.data(), memory.parts[1].handle, ends.size() * sizeof ends[0]);
    for (size_t g = 0; g < ends.size(); ++g)
        if (ends[g] < begin_of(ends, g))
            fail(zemm_invalid_arguments,
                 "%s: group %zu ends at %d, before it begins at %d: offsets must not decrease", name.c_str(),
                 g, ends[g], begin_of(ends, g));
    const zemm_dim_t size = md.dims[md.variable_dim];
    if (ends.back() > size)
        fail(zemm_invalid_arguments, "%s: the last group ends at %d, past the %lld of dimension %d (%s)",
             name.c_str(), ends.back(), (long long)size, md.variable_dim, md_sentence(md).c_str());
    return ends;
}

void check_same_ends(const char *name, const group_ends &ends, const std::string &other_name,
                     const group_ends &other) {
    const auto [a, b] = std::ranges::mismatch(ends, other);
    if (a != ends.end())
        fail(zemm_invalid_arguments,
             "group %td ends at %d in %s and at %d in %s: their offsets must be equal", a - ends.begin(), *a,
             name, *b, other_name.c_str());
}

group_sizes sizes_of(const group_ends &ends, const group_range &range) {
    group_sizes sizes = {};
    for (size_t g = 0; g < ends.size(); ++g) {
        const int32_t size = ends[g] - begin_of(ends, g);
        if (!range.has(size))
            continue;
        sizes.largest = std::max(sizes.largest, size);
        ++sizes.count;
    }
    return sizes;
}

std::vector<group_part> parts_of_rows(const group_ends &ends, const group_range &range, int most, int unit,
                                      int together) {
    std::vector<group_part> parts;
    for (size_t g = 0; g < ends.size(); ++g) {
        const int64_t begin = begin_of(ends, g), size = ends[g] - begin;
        if (!range.has(size))
            continue;
        const int64_t tiles = (size + most - 1) / most;
        const int64_t equal = (size + tiles - 1) / tiles;
        const int64_t height = std::min<int64_t>(most, (equal + unit - 1) / unit * unit);
        for (int64_t done = 0; done < size; done += height)
            parts.push_back({int32_t(g), int32_t(begin + done), int32_t(std::min(height, size - done))});
    }
    while (parts.size() % size_t(together) != 0)
        parts.push_back({});
    return parts;
}

std::vector<group_part> parts_of_k(const group_ends &ends) {
    std::vector<group_part> parts;
    for (size_t g = 0; g < ends.size(); ++g)
        parts.push_back({int32_t(g), begin_of(ends, g), ends[g] - begin_of(ends, g)});
    return parts;
}

group_table make_table(const std::shared_ptr<ze::device> &device, std::vector<group_part> parts) {
    const uint32_t count = uint32_t(parts.size());
    const size_t bytes = parts.size() * sizeof parts[0];
    if (device->host_pointers) {
        auto memory = std::make_shared<const std::vector<group_part>>(std::move(parts));
        const void *data = memory->data();
        return {std::move(memory), data, count};
    }
    auto memory = std::make_shared<ze::buffer>(device, bytes, ze::usm::host);
    if (bytes != 0)
        std::memcpy(memory->data(), parts.data(), bytes);
    const void *data = memory->data();
    return {std::move(memory), data, count};
}

} // namespace zemm::matmul
