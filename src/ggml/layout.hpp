// SPDX-License-Identifier: Apache-2.0
// Where the bits of blocks are. ggml's CPU device repacks some weights for its own kernels ("extra buffer
// types"), in layouts that differ by CPU and version and that nothing describes. They are learned: a small
// tensor with known bits is repacked, and each bit of its blocks is looked for in what came out.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ggml/formats.hpp"
#include "ggml/functions.hpp"

namespace zemm_ggml {

// A layout that is a permutation of bits, the same for each unit: a few rows of one block. Units follow each
// other along K, then along N.
class layout {
public:
    // Of the tensor's type as a buffer of the type repacks it; null if it is no such permutation.
    static std::unique_ptr<const layout> learn(ggml::buffer_type *, const ggml::tensor &, const format &);

    int rows() const { return int(rows_.size()); } // of a unit
    // Of a row, whose bytes lie among those of a unit's other rows.
    size_t row_bytes(size_t in_files) const { return in_files / block_bytes_ * unit_bytes_ / rows_.size(); }

    // Rows that are restored at once, as words of them lie side by side.
    int rows_at_once() const { return octets_.empty() ? 1 : octet; }
    // Of a restored block; the block begins `lead` bytes into it.
    size_t slot_bytes() const { return (lead_ + block_bytes_ + 15) / 16 * 16; }
    size_t lead() const { return lead_; }

    // Writes `count` blocks of each of the rows at once, from block `first` on, as they were before they were
    // repacked. row: the first of such rows. in_row: blocks of each row.
    void restore(const uint8_t *data, int64_t row, int64_t first, int64_t count, int64_t in_row,
                 uint8_t *slots) const;

private:
    // Where a bit of a block is: 8 times the byte plus the bit of it.
    struct place {
        size_t bit;
        bool inverted;
    };
    using places_of_rows = std::vector<std::vector<place>>;
    // Bits of a word of a slot, for eight rows: from words of a unit, one for each row, which lie `step`
    // bytes from each other and are as wide. They are shifted and masked. mask: for four rows and the other
    // four.
    struct source {
        int from, step, right, left;
        uint32_t mask[2];
    };
    // Four bytes of a slot. inverted: bits that are, for four rows and the other four.
    struct word {
        uint32_t inverted[2];
        std::vector<source> sources;
    };
    // Bits of a byte of a block from a byte of a unit: masked after they are shifted, right if positive.
    struct byte {
        int from, to, shift;
        uint8_t mask, inverted;
    };
    static constexpr int octet = 8; // rows

    static std::vector<place> places(ggml::buffer_type *, const ggml::tensor &, const format &, size_t size);
    places_of_rows divide(const std::vector<place> &, size_t rows, size_t size);
    bool find_source(const places_of_rows &, size_t row, size_t bit, source &) const;
    void find_octets(const places_of_rows &);
    void find_bytes(const places_of_rows &);
    void restore_octet(const std::vector<word> &, const uint8_t *units, int64_t count, uint8_t *slots) const;

    std::vector<std::vector<word>> octets_; // of a unit; none if it has fewer rows
    std::vector<std::vector<byte>> rows_;   // of a unit: bits that no word has
    size_t unit_bytes_ = 0, block_bytes_ = 0, lead_ = 0;
};

// How the bytes of a tensor lie: as ggml's files have them, or repacked.
struct bytes_of {
    const uint8_t *data;
    const layout *repacked; // null: as in files

    // The bytes of rows from row `first` on, counted over all matrices. row_bytes: of a row as in files.
    std::span<const uint8_t> of_rows(int64_t first, int64_t rows, size_t row_bytes) const;
};

// Whether the bytes of weights can be read, or will: those of host memory, and repacked ones whose layout was
// learned. Throws std::exception.
bool is_readable(const ggml::tensor *, const format &);

// The bytes of weights that are readable.
bytes_of read_bytes(const ggml::tensor *, const format &);

// Whether ggml has repacked the tensor for its kernels with AMX.
bool is_for_amx(const ggml::tensor *);

// The tensor, or what it is a view of.
const ggml::tensor *whole_of(const ggml::tensor *);

// The buffer of the whole tensor; null before it has memory.
ggml::buffer *buffer_of(const ggml::tensor *);

// Whether ggml's CPU device repacks the tensors of buffers of this type.
bool is_repacker(const ggml::buffer_type *);

} // namespace zemm_ggml
