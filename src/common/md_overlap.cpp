// SPDX-License-Identifier: Apache-2.0
// Finds out whether two tensors of one address space share memory.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/memory_desc.hpp"

namespace zemm {

namespace {

// A tensor as its bits: an element of `bits` bits lies at the sum of the steps times the coordinates. Layouts
// with blocks, and encodings, are one element.
struct extent {
    struct axis {
        int64_t step, last; // bits, and the largest coordinate
    };
    int64_t begin = 0, bits = 0; // of the first element, from the buffer on
    std::vector<axis> axes;
};

extent extent_of(const memory_desc &md, int part) {
    extent e;
    if (!md_is_plain(md)) {
        e.bits = int64_t(md_size(md, part)) * 8;
        return e;
    }
    e.bits = data_type_bits(md.data_type);
    e.begin = md.offset0 * e.bits;
    for (int d = 0; d < md.ndims; ++d)
        if (md.dims[d] > 1 && md.strides[d] != 0)
            e.axes.push_back({md.strides[d] * e.bits, md.dims[d] - 1});
    return e;
}

// Whether a sum of steps, each as often as its range allows, and a rest from the last range, is a value.
class sums {
public:
    sums(const extent &a, const extent &b) {
        for (const extent::axis &x : a.axes)
            add(x.step, 0, x.last);
        for (const extent::axis &x : b.axes)
            add(x.step, -x.last, 0);
        std::ranges::sort(terms_, [](const term &x, const term &y) { return x.step > y.step; });
        reach_.resize(terms_.size() + 1);
        reach_.back() = {1 - b.bits, a.bits - 1};
        for (size_t i = terms_.size(); i-- > 0;)
            reach_[i] = {reach_[i + 1].low + terms_[i].times.low * terms_[i].step,
                         reach_[i + 1].high + terms_[i].times.high * terms_[i].step};
    }

    // true, too, if the search takes too long.
    bool reach(int64_t value, size_t from = 0) {
        constexpr int most = 1 << 14;
        const range &all = reach_[from];
        if (value < all.low || value > all.high)
            return false;
        if (from == terms_.size() || ++visited_ > most)
            return true;
        const term &t = terms_[from];
        const range &rest = reach_[from + 1];
        const int64_t first = std::max(t.times.low, -floor_div(rest.high - value, t.step));
        const int64_t last = std::min(t.times.high, floor_div(value - rest.low, t.step));
        for (int64_t times = first; times <= last; ++times)
            if (reach(value - times * t.step, from + 1))
                return true;
        return false;
    }

private:
    struct range {
        int64_t low, high;
    };
    struct term {
        int64_t step;
        range times;
    };

    static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

    void add(int64_t step, int64_t low, int64_t high) {
        const auto found = std::ranges::find(terms_, step, &term::step);
        if (found == terms_.end()) {
            terms_.push_back({step, {low, high}});
            return;
        }
        found->times.low += low;
        found->times.high += high;
    }

    std::vector<term> terms_;
    std::vector<range> reach_; // of the terms from here on
    int visited_ = 0;
};

} // namespace

bool md_overlap(const memory_desc &a, int part_of_a, const void *at_a, const memory_desc &b, int part_of_b,
                const void *at_b) {
    const auto begin_a = reinterpret_cast<uintptr_t>(at_a), begin_b = reinterpret_cast<uintptr_t>(at_b);
    const uintptr_t end_a = begin_a + md_size(a, part_of_a), end_b = begin_b + md_size(b, part_of_b);
    if (begin_a >= end_b || begin_b >= end_a || begin_a == end_a || begin_b == end_b)
        return false;
    constexpr uintptr_t most = uintptr_t(1) << 56; // bytes, whose bits an int64_t counts
    if (end_a - begin_a > most || end_b - begin_b > most)
        return true;
    const extent of_a = extent_of(a, part_of_a), of_b = extent_of(b, part_of_b);
    const int64_t distance = int64_t(begin_b - begin_a) * 8 + of_b.begin - of_a.begin;
    return sums(of_a, of_b).reach(distance);
}

} // namespace zemm
