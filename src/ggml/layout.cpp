// SPDX-License-Identifier: Apache-2.0
#include "ggml/layout.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <tuple>
#include <unordered_map>

#include <immintrin.h>

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

// Where the bits of each row of a unit are, if units of so many rows lie one after the other, each like the
// first; else none.
layout::places_of_rows layout::divide(const std::vector<place> &all, size_t rows, size_t size) {
    constexpr size_t blocks = probe_blocks;
    const size_t bits = 8 * block_bytes_, unit = size * rows / size_t(probe_rows) / blocks;
    places_of_rows places(rows);
    for (size_t i = 0; i < all.size(); ++i) {
        const size_t row = i / (blocks * bits), block = i / bits % blocks, bit = i % bits;
        const place &first = all[row % rows * blocks * bits + bit];
        if (first.bit >= 8 * unit || first.inverted != all[i].inverted ||
            all[i].bit != (row / rows * blocks + block) * 8 * unit + first.bit)
            return {};
        if (row < rows && block == 0)
            places[row].push_back(first);
    }
    unit_bytes_ = unit;
    return places;
}

// The source of a bit of a row: the bit lies at equal distances in four rows, from a multiple of four on.
bool layout::find_source(const places_of_rows &unit, size_t row, size_t bit, source &found) const {
    if (octets_.empty())
        return false;
    const size_t half = row / 4 % 2, four = row / 4 * 4;
    const place &first = unit[four][bit];
    const size_t distance = unit[four + 1][bit].bit - first.bit, step = distance / 8;
    if (distance != 8 && distance != 16 && distance != 32 && distance != 64)
        return false;
    for (size_t r = 0; r < 4; ++r) {
        const place &at = unit[four + r][bit];
        if (at.bit != first.bit + r * distance || at.inverted != first.inverted)
            return false;
    }
    // Eight words are read: those of the other four rows are in the unit, too.
    const size_t word = first.bit / distance * step, to = 8 * lead_ + bit;
    if (word < 4 * half * step || word + (8 - 4 * half) * step > unit_bytes_)
        return false;
    const int shift = int(first.bit - 8 * word) - int(to % 32);
    found = {int(word - 4 * half * step), int(step), std::max(shift, 0), std::max(-shift, 0), {}};
    found.mask[half] = 1u << to % 32;
    return true;
}

void layout::find_octets(const places_of_rows &unit) {
    octets_.resize(unit.size() / octet, std::vector<word>(slot_bytes() / 4));
    for (size_t row = 0; row < octets_.size() * octet; row += 4)
        for (size_t bit = 0; bit < 8 * block_bytes_; ++bit) {
            source next;
            if (!find_source(unit, row, bit, next))
                continue;
            word &w = octets_[row / octet][(8 * lead_ + bit) / 32];
            const auto same = std::ranges::find_if(w.sources, [&](const source &s) {
                return std::tie(s.from, s.step, s.right, s.left) ==
                       std::tie(next.from, next.step, next.right, next.left);
            });
            source &all = same == w.sources.end() ? w.sources.emplace_back(next) : *same;
            for (size_t half = 0; half < 2; ++half) {
                all.mask[half] |= next.mask[half];
                w.inverted[half] |= unit[row][bit].inverted ? next.mask[half] : 0;
            }
        }
}

// Of the bits that have no source.
void layout::find_bytes(const places_of_rows &unit) {
    rows_.resize(unit.size());
    for (size_t row = 0; row < unit.size(); ++row)
        for (size_t bit = 0; bit < 8 * block_bytes_; ++bit) {
            source other;
            if (find_source(unit, row, bit, other))
                continue;
            const place &at = unit[row][bit];
            const byte next{int(at.bit / 8), int(bit / 8), int(at.bit % 8) - int(bit % 8),
                            uint8_t(1u << bit % 8), uint8_t(at.inverted << bit % 8)};
            std::vector<byte> &bytes = rows_[row];
            const auto same = std::ranges::find_if(bytes, [&](const byte &b) {
                return b.from == next.from && b.to == next.to && b.shift == next.shift;
            });
            if (same == bytes.end()) {
                bytes.push_back(next);
            } else {
                same->mask |= next.mask;
                same->inverted |= next.inverted;
            }
        }
}

std::unique_ptr<const layout> layout::learn(ggml::buffer_type *type, const ggml::tensor &tensor,
                                            const format &f) {
    const ggml::tensor probe = probe_of(tensor, f);
    const size_t size = api.backend_buft_get_alloc_size(type, &probe);
    std::unique_ptr<layout> made(new layout);
    made->block_bytes_ = size_t(f.bytes);
    made->lead_ = size_t(-f.low.at & 3); // so that codes begin at a word
    const std::vector<place> all = places(type, tensor, f, size);
    if (all.empty())
        return nullptr;
    for (const size_t rows : {1, 2, 4, 8, 16, 32}) {
        const places_of_rows unit = made->divide(all, rows, size);
        if (unit.empty())
            continue;
        made->find_octets(unit);
        made->find_bytes(unit);
        return made;
    }
    return nullptr;
}

namespace {

inline __m256i halves(const uint32_t (&of)[2]) {
    return _mm256_set_m128i(_mm_set1_epi32(int(of[1])), _mm_set1_epi32(int(of[0])));
}

// Words of eight rows, shifted right.
inline __m256i load_words(const uint8_t *from, int step, __m128i right) {
    const auto *const bytes = reinterpret_cast<const __m128i *>(from);
    const auto *const words = reinterpret_cast<const __m256i *>(from);
    if (step == 1)
        return _mm256_srl_epi32(_mm256_cvtepu8_epi32(_mm_loadl_epi64(bytes)), right);
    if (step == 2)
        return _mm256_srl_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(bytes)), right);
    if (step == 4)
        return _mm256_srl_epi32(_mm256_loadu_si256(words), right);
    const __m256i low = _mm256_srl_epi64(_mm256_loadu_si256(words), right),
                  high = _mm256_srl_epi64(_mm256_loadu_si256(words + 1), right);
    const __m256 rows_01452367 = _mm256_shuffle_ps(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high), 0x88);
    return _mm256_permute4x64_epi64(_mm256_castps_si256(rows_01452367), 0xd8);
}

// Four words of each of eight rows become 16 bytes of each row.
inline void store_rows(const __m256i (&words)[4], size_t row_bytes, uint8_t *to) {
    const __m256i low_01 = _mm256_unpacklo_epi32(words[0], words[1]),
                  high_01 = _mm256_unpackhi_epi32(words[0], words[1]),
                  low_23 = _mm256_unpacklo_epi32(words[2], words[3]),
                  high_23 = _mm256_unpackhi_epi32(words[2], words[3]);
    const __m256i rows[] = {_mm256_unpacklo_epi64(low_01, low_23), _mm256_unpackhi_epi64(low_01, low_23),
                            _mm256_unpacklo_epi64(high_01, high_23), _mm256_unpackhi_epi64(high_01, high_23)};
    for (const __m256i &row : rows) { // and the one four rows later
        _mm_storeu_si128(reinterpret_cast<__m128i *>(to), _mm256_castsi256_si128(row));
        _mm_storeu_si128(reinterpret_cast<__m128i *>(to + 4 * row_bytes), _mm256_extracti128_si256(row, 1));
        to += row_bytes;
    }
}

} // namespace

// Of some blocks at once, so that a source is prepared once for them. The last ones may be the same block.
void layout::restore_octet(const std::vector<word> &words, const uint8_t *units, int64_t count,
                           uint8_t *slots) const {
    constexpr int64_t at_once = 4;
    for (size_t i = 0; i < words.size(); i += 4)
        for (int64_t first = 0; first < count; first += at_once) {
            const uint8_t *unit[at_once];
            __m256i restored[at_once][4];
            for (int64_t b = 0; b < at_once; ++b)
                unit[b] = units + size_t(std::min(first + b, count - 1)) * unit_bytes_;
            for (size_t j = 0; j < 4; ++j) {
                __m256i all[at_once];
                std::ranges::fill(all, halves(words[i + j].inverted));
                for (const source &s : words[i + j].sources) {
                    const __m128i right = _mm_cvtsi32_si128(s.right), left = _mm_cvtsi32_si128(s.left);
                    const __m256i mask = halves(s.mask);
                    for (int64_t b = 0; b < at_once; ++b) {
                        const __m256i bits =
                            _mm256_sll_epi32(load_words(unit[b] + s.from, s.step, right), left);
                        all[b] = _mm256_xor_si256(all[b], _mm256_and_si256(bits, mask));
                    }
                }
                for (int64_t b = 0; b < at_once; ++b)
                    restored[b][j] = all[b];
            }
            for (int64_t b = 0; b < at_once; ++b)
                store_rows(restored[b], size_t(count) * slot_bytes(),
                           slots + size_t(std::min(first + b, count - 1)) * slot_bytes() + 4 * i);
        }
}

void layout::restore(const uint8_t *data, int64_t row, int64_t first, int64_t count, int64_t in_row,
                     uint8_t *slots) const {
    const size_t rows = rows_.size(), in_unit = size_t(row) % rows, row_bytes = size_t(count) * slot_bytes();
    const uint8_t *const units = data + (size_t(row) / rows * size_t(in_row) + size_t(first)) * unit_bytes_;
    if (octets_.empty())
        std::memset(slots, 0, row_bytes);
    else
        restore_octet(octets_[in_unit / octet], units, count, slots);
    for (size_t i = 0; i < size_t(rows_at_once()); ++i, slots += row_bytes)
        for (const byte &b : rows_[in_unit + i]) {
            const uint8_t *from = units + b.from;
            uint8_t *to = slots + lead_ + size_t(b.to);
            const int right = std::max(b.shift, 0), left = std::max(-b.shift, 0);
            for (int64_t block = 0; block < count; ++block, from += unit_bytes_, to += slot_bytes())
                *to |= uint8_t((*from >> right << left & b.mask) ^ b.inverted);
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

bool is_for_amx(const ggml::tensor *tensor) {
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
