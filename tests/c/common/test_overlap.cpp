// SPDX-License-Identifier: Apache-2.0
// md_overlap() against a list of all bits: tensors of any type and strides, at places near each other.
#include <random>
#include <vector>

#include "check.h"
#include "common/memory_desc.hpp"
#include "test_case.hpp"

using namespace zemm;

namespace {

struct tensor {
    memory_desc md;
    int at; // bytes
    // The numbers of its bits.
    std::vector<long> bits() const {
        std::vector<long> found;
        const long size = data_type_bits(md.data_type);
        for (zemm_dim_t i = 0; i < md.dims[0]; ++i)
            for (zemm_dim_t j = 0; j < md.dims[1]; ++j)
                for (long bit = 0; bit < size; ++bit)
                    found.push_back(8L * at + (md.offset0 + i * md.strides[0] + j * md.strides[1]) * size +
                                    bit);
        return found;
    }
};

class dice {
public:
    int roll(int low, int high) { return std::uniform_int_distribution(low, high)(generator_); }

    tensor draw() {
        constexpr zemm_data_type_t types[] = {zemm_f32, zemm_f16, zemm_s8, zemm_f4_e2m1, zemm_u4};
        const zemm_data_type_t dt = types[roll(0, 4)];
        zemm_dim_t dims[] = {roll(0, 4), 2 * roll(1, 3)}, strides[] = {dims[1] + 2 * roll(0, 5), 1};
        if (data_type_bits(dt) > 4 && roll(0, 1) == 0) {
            strides[0] = 1;
            strides[1] = dims[0] + roll(0, 5);
        }
        tensor t = {md_with_strides(2, dims, dt, strides), 64 + roll(0, 40)};
        t.md.offset0 = 2 * roll(0, 3);
        return t;
    }

private:
    std::mt19937 generator_{7};
};

bool share(const tensor &a, const tensor &b) {
    std::vector<bool> taken(8 * 1024);
    for (long bit : a.bits())
        taken[size_t(bit)] = true;
    bool found = false;
    for (long bit : b.bits())
        found = found || taken[size_t(bit)];
    return found;
}

void *place(int at) {
    return reinterpret_cast<void *>(uintptr_t(0x10000 + at));
}

} // namespace

TEST(overlaps) {
    dice d;
    int sharing = 0;
    for (int i = 0; i < 50000; ++i) {
        const tensor a = d.draw(), b = d.draw();
        const bool wanted = share(a, b);
        sharing += wanted;
        CHECK(md_overlap(a.md, 0, place(a.at), b.md, 0, place(b.at)) == wanted);
        CHECK(md_overlap(b.md, 0, place(b.at), a.md, 0, place(a.at)) == wanted);
    }
    CHECK(sharing > 10000 && sharing < 40000);
}
