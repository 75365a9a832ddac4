// SPDX-License-Identifier: Apache-2.0
// Learns layouts of buffers that repack blocks in ways of their own, and prints the layouts of which blocks
// are not restored. The argument is ggml's number of the type. Compiled with files of src/ggml by
// test_ggml_layouts.py.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "ggml/layout.hpp"

using namespace zemm_ggml;

namespace {

using bytes = std::vector<uint8_t>;
using repacker = std::function<void(bytes &unit)>; // of the rows' blocks, one after the other

struct way {
    std::string name;
    size_t rows; // of a unit
    repacker repack;
    bool is_known = true;
};

// What all buffers have: the format of the tensor and how it is repacked.
const format *form;
const way *now;
bytes memory;
ggml::buffer_type type{[](ggml::buffer_type *) { return "repacked"; }};

void set(ggml::buffer *, ggml::tensor *tensor, const void *data, size_t, size_t size) {
    const auto *const from = static_cast<const uint8_t *>(data);
    auto *to = static_cast<uint8_t *>(tensor->data);
    const size_t each = size_t(form->bytes), in_row = size_t(tensor->ne[0]) / size_t(form->elements);
    for (size_t row = 0; row < size / each / in_row; row += now->rows)
        for (size_t block = 0; block < in_row; ++block) {
            bytes unit;
            for (size_t r = row; r < row + now->rows; ++r)
                unit.insert(unit.end(), from + (r * in_row + block) * each,
                            from + (r * in_row + block + 1) * each);
            now->repack(unit);
            to = std::copy(unit.begin(), unit.end(), to);
        }
}

ggml::buffer *allocate(ggml::buffer_type *, size_t size) {
    auto *const made = new ggml::buffer{};
    memory.assign(size, 0);
    made->iface.get_base = [](ggml::buffer *) -> void * { return memory.data(); };
    made->iface.init_tensor = [](ggml::buffer *, ggml::tensor *) { return int(ggml::status_success); };
    made->iface.set_tensor = set;
    return made;
}

size_t size_of(ggml::buffer_type *, const ggml::tensor *tensor) {
    return tensor->nb[1] * size_t(tensor->ne[1]);
}

// Words of `width` bytes, those of all rows side by side. A smaller one ends at byte `first` of a block.
repacker side_by_side(size_t rows, size_t width, size_t first = size_t(form->bytes) % 4) {
    return [=](bytes &unit) {
        const bytes old = unit;
        const size_t each = old.size() / rows;
        auto to = unit.begin();
        for (size_t at = 0; at < each;) {
            const size_t some = std::min(at < first ? first - at : width, each - at);
            for (size_t r = 0; r < rows; ++r)
                to = std::copy_n(old.begin() + std::ptrdiff_t(r * each + at), some, to);
            at += some;
        }
    };
}

// The low halves of two words make one word, and the high ones another.
void join_halves(bytes &unit) {
    for (size_t i = 0; i + 128 <= unit.size(); i += 128)
        for (size_t j = i; j < i + 64; ++j) {
            const uint8_t low = unit[j], high = unit[j + 64];
            unit[j] = uint8_t((low & 15) | high << 4);
            unit[j + 64] = uint8_t(~(low >> 4 | (high & 0xf0)));
        }
}

void shuffle(bytes &unit) {
    const bytes old = unit;
    std::vector<size_t> order(old.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::ranges::shuffle(order, std::minstd_rand(1));
    for (size_t i = 0; i < old.size(); ++i)
        unit[i] = uint8_t(~(old[order[i]] << 3 | old[order[i]] >> 5));
}

// The last four of eight rows have their bytes in the opposite order, and those of one of them are inverted.
void turn_halves(bytes &unit) {
    const std::ptrdiff_t each = std::ptrdiff_t(unit.size()) / 8;
    for (auto row = unit.begin() + 4 * each; row != unit.end(); row += each)
        std::reverse(row, row + each);
    std::transform(unit.begin() + 5 * each, unit.begin() + 6 * each, unit.begin() + 5 * each,
                   [](uint8_t byte) { return uint8_t(~byte); });
    side_by_side(8, 1)(unit);
}

// The last four of eight rows come before the first ones.
void swap_halves(bytes &unit) {
    std::rotate(unit.begin(), unit.begin() + std::ptrdiff_t(unit.size() / 2), unit.end());
    side_by_side(8, 4)(unit);
}

std::vector<way> all_ways() {
    std::vector<way> all{
        {"as it is", 1, [](bytes &) {}},
        {"a row shuffled", 1, shuffle},
        {"eight rows shuffled", 8, shuffle},
        {"halves of words", 16,
         [](bytes &unit) {
             side_by_side(16, 4)(unit);
             join_halves(unit);
         }},
        {"rows turned", 8, turn_halves},
        {"rows swapped", 8, swap_halves},
        {"words elsewhere", 8, side_by_side(8, 4, 1)},
        {"bits lost", 8, [](bytes &unit) { unit[5] &= 0xfe; }, false},
    };
    for (const size_t rows : {4, 8, 16, 32})
        for (const size_t width : {1, 2, 4, 8, 16})
            all.push_back({std::to_string(rows) + " rows, words of " + std::to_string(width) + " bytes", rows,
                           side_by_side(rows, width)});
    return all;
}

// Whether all blocks are restored, with nothing written behind them.
bool is_right(const way &w) {
    constexpr int64_t rows = 64, in_row = 11;
    now = &w;
    ggml::tensor tensor{};
    tensor.ne[0] = in_row * form->elements;
    tensor.ne[1] = rows;
    const auto learned = layout::learn(&type, tensor, *form);
    if (!learned || !w.is_known)
        return !learned && !w.is_known;
    bytes before(size_t(rows * in_row * form->bytes)), after(before.size());
    std::minstd_rand random;
    std::ranges::generate(before, [&] { return uint8_t(random() >> 8); });
    tensor.data = after.data();
    set(nullptr, &tensor, before.data(), 0, before.size());
    const int64_t at_once = learned->rows_at_once();
    const size_t slot = learned->slot_bytes(), each = size_t(form->bytes);
    for (const int64_t count : {1, 3, 4, 6})
        for (int64_t row = 0; row < rows; row += at_once)
            for (int64_t first = 0; first + count <= in_row; first += count) {
                const size_t slots = size_t(at_once * count);
                bytes restored(slots * slot + 1, 0xaa);
                learned->restore(after.data(), row, first, count, in_row, restored.data());
                if (restored.back() != 0xaa)
                    return false;
                for (size_t i = 0; i < slots; ++i) {
                    const size_t of = size_t((row + int64_t(i) / count) * in_row + first) + i % size_t(count);
                    if (std::memcmp(&restored[i * slot + learned->lead()], &before[of * each], each) != 0)
                        return false;
                }
            }
    return true;
}

} // namespace

int main(int, char **arguments) {
    form = find_format(std::atoi(arguments[1]));
    api.backend_buft_alloc_buffer = allocate;
    api.backend_buffer_free = [](ggml::buffer *buffer) { delete buffer; };
    api.backend_buft_get_alloc_size = size_of;
    int wrong = 0;
    for (const way &w : all_ways())
        if (!is_right(w)) {
            std::printf("%s\n", w.name.c_str());
            ++wrong;
        }
    return wrong;
}
