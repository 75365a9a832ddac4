// SPDX-License-Identifier: Apache-2.0
// What src/ggml/formats.cpp reads from blocks of standard input. The argument is ggml's number of the type.
// For each block it prints codes, scales, and offsets of types that have some.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "ggml/formats.hpp"

using namespace zemm_ggml;

namespace {

std::vector<uint8_t> read_all() {
    std::vector<uint8_t> all;
    uint8_t part[4096];
    while (const size_t size = std::fread(part, 1, sizeof part, stdin))
        all.insert(all.end(), part, part + size);
    return all;
}

// The bytes of each group's value.
size_t value_bytes(const format &f) {
    return f.scales == zemm_f16 ? sizeof(uint16_t) : sizeof(float);
}

void print(const std::vector<uint8_t> &values, size_t block, size_t bytes) {
    std::fwrite(&values[block * bytes], 1, bytes, stdout);
}

} // namespace

int main(int, char **arguments) {
    const format *const f = find_format(std::atoi(arguments[1]));
    if (!f)
        return 2;
    const std::vector<uint8_t> all = read_all();
    const size_t blocks = all.size() / size_t(f->bytes), codes_bytes = size_t(f->elements * f->bits() / 8),
                 groups_bytes = size_t(f->groups()) * value_bytes(*f);
    std::vector<uint8_t> codes(blocks * codes_bytes), scales(blocks * groups_bytes), offsets(scales.size());
    read_blocks(*f, all.data(), f->bytes, int64_t(blocks), {codes.data(), scales.data(), offsets.data(), 1});
    for (size_t block = 0; block < blocks; ++block) {
        print(codes, block, codes_bytes);
        print(scales, block, groups_bytes);
        if (f->has_offsets)
            print(offsets, block, groups_bytes);
    }
}
