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

void print(const uint8_t *values, int count) {
    std::fwrite(values, 1, size_t(count), stdout);
}

void print(const format &f, const group_values &values) {
    if (f.scales == zemm_f16)
        std::fwrite(values.f16, sizeof values.f16[0], size_t(f.groups()), stdout);
    else
        std::fwrite(values.f32, sizeof values.f32[0], size_t(f.groups()), stdout);
}

void print_block(const format &f, const uint8_t *block) {
    uint8_t codes[most_elements];
    parameters p;
    f.read(block, p);
    read_codes(f, block, codes);
    print(codes, f.elements * f.bits() / 8);
    print(f, p.scales);
    if (f.has_offsets)
        print(f, p.offsets);
}

} // namespace

int main(int, char **arguments) {
    const format *const f = find_format(std::atoi(arguments[1]));
    if (!f)
        return 2;
    const std::vector<uint8_t> all = read_all();
    const size_t size = size_t(f->bytes);
    for (size_t at = 0; at + size <= all.size(); at += size)
        print_block(*f, &all[at]);
}
