// SPDX-License-Identifier: Apache-2.0
#include "ggml/layout.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <tuple>
#include <unordered_map>

namespace zemm_ggml {

namespace {

constexpr int64_t probe_rows = 32, probe_blocks = 4; // of the tensor that is repacked to learn a layout
constexpr int probes = 64;                           // with random bits, so that bits have names of 64 bits

struct buffer_freer {
    void operator()(ggml::buffer *buffer) const { api.backend_buffer_free(buffer); }
};

ggml::tensor probe_of(const ggml::tensor &tensor, const format &f) {
    ggml::tensor probe{};
    probe.type = tensor.type;
    probe.ne[0] = probe_blocks * f.elements;
    probe.ne[1] = probe_rows;
    probe.ne[2] = probe.ne[3] = 1;
    probe.nb[0] = size_t(f.bytes);
    probe.nb[1] = size_t(probe_blocks * f.bytes);
    probe.nb[2] = probe.nb[3] = probe.nb[1] * size_t(probe_rows);
    return probe;
}

// The names of all bits: bit p of a name is the bit's value in probe p.
std::vector<uint64_t> names_of(const std::vector<std::vector<uint8_t>> &all) {
    std::vector<uint64_t> names(all[0].size() * 8);
    for (size_t p = 0; p < all.size(); ++p)
        for (size_t bit = 0; bit < names.size(); ++bit)
            names[bit] |= uint64_t(all[p][bit / 8] >> bit % 8 & 1) << p;
    return names;
}

} // namespace

// Runs of neighbouring bytes become words, and words at equal distances one run.
std::vector<layout::run> layout::joined(const std::vector<run> &bytes) {
    const auto is_alike = [](const run &a, const run &b) {
        return std::tie(a.width, a.shift, a.mask, a.inverted) ==
               std::tie(b.width, b.shift, b.mask, b.inverted);
    };
    std::vector<run> runs = bytes;
    for (int width = 1; width < 8; width *= 2) {
        std::vector<run> wider;
        for (const run &r : runs) {
            const auto low = std::ranges::find_if(wider, [&](const run &w) {
                return is_alike(w, r) && w.width == width && w.from + width == r.from && w.to + width == r.to;
            });
            if (low == wider.end() || r.width != width)
                wider.push_back(r);
            else
                low->width = 2 * width;
        }
        runs = wider;
    }
    std::vector<run> all;
    for (const run &r : runs) {
        const auto before = std::ranges::find_if(all, [&](const run &b) {
            return is_alike(b, r) && (b.count == 1 || (r.from == b.from + b.count * b.from_step &&
                                                       r.to == b.to + b.count * b.to_step));
        });
        if (before == all.end()) {
            all.push_back(r);
            continue;
        }
        if (before->count == 1) {
            before->from_step = r.from - before->from;
            before->to_step = r.to - before->to;
        }
        ++before->count;
    }
    return all;
}

// Where the bits of the probe are after it was repacked; none if a bit was not found.
std::vector<layout::place> layout::places(ggml::buffer_type *type, const ggml::tensor &tensor,
                                          const format &f, size_t size) {
    ggml::tensor probe = probe_of(tensor, f);
    const std::unique_ptr<ggml::buffer, buffer_freer> buffer(api.backend_buft_alloc_buffer(type, size));
    if (!buffer || !buffer->iface.init_tensor)
        return {};
    probe.buffer = buffer.get();
    probe.data = buffer->iface.get_base(buffer.get());
    if (buffer->iface.init_tensor(buffer.get(), &probe) != ggml::status_success ||
        probe.extra != tensor.extra)
        return {};
    const auto *const data = static_cast<const uint8_t *>(probe.data);
    std::minstd_rand random;
    std::vector<std::vector<uint8_t>> before, after;
    for (int p = 0; p < probes; ++p) {
        std::vector<uint8_t> &bytes = before.emplace_back(probe.nb[2]);
        std::ranges::generate(bytes, [&] { return uint8_t(random() >> 8); });
        buffer->iface.set_tensor(buffer.get(), &probe, bytes.data(), 0, bytes.size());
        after.emplace_back(data, data + size);
    }
    std::unordered_map<uint64_t, size_t> found;
    const std::vector<uint64_t> names = names_of(after);
    for (size_t bit = 0; bit < names.size(); ++bit)
        found.try_emplace(names[bit], bit);
    std::vector<place> all;
    for (const uint64_t name : names_of(before)) {
        const bool is_same = found.contains(name);
        const auto at = found.find(is_same ? name : ~name);
        if (at == found.end())
            return {};
        all.push_back({at->second, !is_same});
    }
    return all;
}

// Whether units of so many rows lie one after the other, each like the first; if so it keeps their runs.
bool layout::divide(const std::vector<place> &all, size_t rows, size_t size) {
    constexpr size_t blocks = probe_blocks;
    const size_t bits = 8 * block_bytes_, unit = size * rows / size_t(probe_rows) / blocks;
    rows_.assign(rows, {});
    for (size_t i = 0; i < all.size(); ++i) {
        const size_t row = i / (blocks * bits), block = i / bits % blocks, bit = i % bits;
        const place &first = all[row % rows * blocks * bits + bit];
        if (first.bit >= 8 * unit || first.inverted != all[i].inverted ||
            all[i].bit != (row / rows * blocks + block) * 8 * unit + first.bit)
            return false;
        if (row >= rows || block > 0)
            continue;
        const run next{.from = int(first.bit / 8),
                       .from_step = 0,
                       .to = int(bit / 8),
                       .to_step = 0,
                       .count = 1,
                       .width = 1,
                       .shift = int(first.bit % 8) - int(bit % 8),
                       .mask = uint8_t(1u << bit % 8),
                       .inverted = uint8_t(first.inverted << bit % 8)};
        std::vector<run> &runs = rows_[row];
        const auto same = std::ranges::find_if(runs, [&](const run &r) {
            return r.from == next.from && r.to == next.to && r.shift == next.shift;
        });
        if (same == runs.end()) {
            runs.push_back(next);
        } else {
            same->mask |= next.mask;
            same->inverted |= next.inverted;
        }
    }
    unit_bytes_ = unit;
    return true;
}

std::unique_ptr<const layout> layout::learn(ggml::buffer_type *type, const ggml::tensor &tensor,
                                            const format &f) {
    const ggml::tensor probe = probe_of(tensor, f);
    const size_t size = api.backend_buft_get_alloc_size(type, &probe);
    std::unique_ptr<layout> made(new layout);
    made->block_bytes_ = size_t(f.bytes);
    const std::vector<place> all = places(type, tensor, f, size);
    if (all.empty())
        return nullptr;
    for (const size_t rows : {1, 2, 4, 8, 16, 32}) {
        if (!made->divide(all, rows, size))
            continue;
        for (std::vector<run> &runs : made->rows_)
            runs = joined(runs);
        return made;
    }
    return nullptr;
}

// is_whole: the run has all bits of its bytes.
template <typename T, bool is_whole>
void layout::copy(const run &r, const uint8_t *units, int64_t count, uint8_t *blocks) const {
    constexpr T each = T(0x0101010101010101u);
    const T mask = T(each * r.mask), inverted = T(each * r.inverted);
    const int right = std::max(r.shift, 0), left = std::max(-r.shift, 0);
    for (int64_t block = 0; block < count; ++block, units += unit_bytes_, blocks += block_bytes_) {
        const uint8_t *from = units + r.from;
        uint8_t *to = blocks + r.to;
        for (int i = 0; i < r.count; ++i, from += r.from_step, to += r.to_step) {
            T word, other;
            std::memcpy(&word, from, sizeof word);
            if constexpr (is_whole) {
                word ^= inverted;
            } else {
                std::memcpy(&other, to, sizeof other);
                word = T(((T(T(word >> right) << left) & mask) ^ inverted) | other);
            }
            std::memcpy(to, &word, sizeof word);
        }
    }
}

template <typename T>
void layout::copy_run(const run &r, const uint8_t *units, int64_t count, uint8_t *blocks) const {
    if (r.mask == 0xff)
        copy<T, true>(r, units, count, blocks);
    else
        copy<T, false>(r, units, count, blocks);
}

void layout::restore(const uint8_t *data, int64_t row, int64_t first, int64_t count, int64_t in_row,
                     uint8_t *blocks) const {
    const int64_t rows = int64_t(rows_.size());
    const uint8_t *const units = data + size_t(row / rows * in_row + first) * unit_bytes_;
    std::memset(blocks, 0, size_t(count) * block_bytes_);
    for (const run &r : rows_[size_t(row % rows)])
        switch (r.width) {
        case 8:
            copy_run<uint64_t>(r, units, count, blocks);
            break;
        case 4:
            copy_run<uint32_t>(r, units, count, blocks);
            break;
        case 2:
            copy_run<uint16_t>(r, units, count, blocks);
            break;
        default:
            copy_run<uint8_t>(r, units, count, blocks);
        }
}

namespace {

using list_function = ggml::buffer_type **(*)(ggml::device *);

// Whether the bytes lie as in files, or will.
bool is_plain(const ggml::tensor *tensor) {
    const ggml::buffer *const buffer = buffer_of(tensor);
    return !buffer || api.backend_buft_is_host(buffer->buft);
}

// The layouts that were learned, by what decides them; null: none.
const layout *layout_of(const ggml::tensor *tensor, const format &f) {
    static std::mutex &lock = *new std::mutex;
    using key = std::tuple<ggml::buffer_type *, int, void *>;
    static auto &learned = *new std::map<key, std::unique_ptr<const layout>>;
    ggml::buffer_type *const type = tensor->buffer->buft;
    const std::lock_guard hold(lock);
    const key of{type, tensor->type, tensor->extra};
    const auto found = learned.find(of);
    if (found != learned.end())
        return found->second.get();
    auto made = layout::learn(type, *tensor, f);
    if (!made)
        log(ggml::log_info, "it does not know how %s has repacked %s: ggml multiplies by such weights",
            type->get_name(type), api.type_name(tensor->type));
    return (learned[of] = std::move(made)).get();
}

} // namespace

const ggml::tensor *whole_of(const ggml::tensor *tensor) {
    return tensor->view_src ? tensor->view_src : tensor;
}

ggml::buffer *buffer_of(const ggml::tensor *tensor) {
    return whole_of(tensor)->buffer;
}

bool is_repacker(const ggml::buffer_type *type) {
    ggml::device *const cpu = api.backend_dev_by_type(ggml::device_cpu);
    if (!cpu)
        return false;
    const auto list = reinterpret_cast<list_function>(api.backend_reg_get_proc_address(
        api.backend_dev_backend_reg(cpu), "ggml_backend_dev_get_extra_bufts"));
    for (ggml::buffer_type **next = list ? list(cpu) : nullptr; next && *next; ++next)
        if (*next == type)
            return true;
    return false;
}

bool is_readable(const ggml::tensor *tensor, const format &f) {
    if (is_plain(tensor))
        return true;
    if (tensor->view_src || !tensor->extra || !is_repacker(tensor->buffer->buft))
        return false;
    const layout *const repacked = layout_of(tensor, f);
    return repacked && tensor->ne[1] % repacked->rows() == 0;
}

bool is_slow_to_read(const ggml::tensor *tensor) {
    const ggml::buffer *const buffer = buffer_of(tensor);
    return buffer && std::strcmp(buffer->buft->get_name(buffer->buft), "AMX") == 0;
}

std::span<const uint8_t> bytes_of::of_rows(int64_t first, int64_t rows, size_t row_bytes) const {
    const size_t each = repacked ? repacked->row_bytes(row_bytes) : row_bytes;
    return {data + size_t(first) * each, size_t(rows) * each};
}

bytes_of read_bytes(const ggml::tensor *tensor, const format &f) {
    return {static_cast<const uint8_t *>(tensor->data), is_plain(tensor) ? nullptr : layout_of(tensor, f)};
}

} // namespace zemm_ggml
