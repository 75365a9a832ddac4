// SPDX-License-Identifier: Apache-2.0
// How K is split for GPUs of several sizes. Linked with libzemm's objects, because this is internal.
#include <memory>
#include <set>
#include <string>

#include "check.h"
#include "common/error.hpp"
#include "common/md_ops.hpp"
#include "matmul/choose/facts.hpp"
#include "matmul/choose/split.hpp"
#include "matmul/choose/tuning.hpp"
#include "matmul/choose/xe_cost.hpp"
#include "same.hpp"
#include "test_case.hpp"

using namespace zemm;
using namespace zemm::matmul;

namespace {

// Eight Xe cores of Xe-HPC.
ze::gpu_model eight_cores() {
    ze::gpu_model m = {};
    static_cast<ze::gpu_row &>(m) = ze::row_of({12u << 22 | 60u << 14});
    m.xe_cores = m.xves_per_core = 8;
    m.slm_per_group = 128 << 10;
    return m;
}

kernel_row tile_40x32() {
    kernel_row row = {};
    row.name = "tile";
    row.tile_m = 40;
    row.tile_n = 32;
    row.tile_k = 128;
    row.rows_at_once = row.group_x = 8;
    row.group_y = 4;
    row.lanes = 16;
    row.grf = 256;
    row.family = isa_family::xe_hpc;
    row.multiplies = operands::int8;
    return row;
}

problem bytes(zemm_dim_t m, zemm_dim_t n, zemm_dim_t k) {
    const zemm_dim_t src[] = {m, k}, wei[] = {k, n}, dst[] = {m, n};
    return make_problem(md_with_string_tag(2, src, zemm_u8, "ab"),
                        md_with_string_tag(2, wei, zemm_s8, "BA16a64b4a"), nullptr,
                        md_with_string_tag(2, dst, zemm_s32, "ab"), nullptr);
}

facts facts_of_tile(const problem &p, const kernel_row &row) {
    const problem_facts of_problem = facts_of(p);
    return facts_of(row, of_problem, std::make_shared<laid_out_problem>(p, p.wei, of_problem));
}

std::string split_of(zemm_dim_t m, zemm_dim_t n, zemm_dim_t k, const ze::gpu_model &model) {
    const kernel_row row = tile_40x32();
    return best_split(facts_of_tile(bytes(m, n, k), row), model, {}).text();
}

TEST(sentences) {
    const ze::gpu_model gpu = eight_cores();
    SAME(split_of(1600, 4096, 4096, gpu), ""); // 20 groups of 32 tiles for each core
    SAME(split_of(40, 512, 8192, gpu), ", K in 8 slices");
    SAME(split_of(40, 32, 65536, gpu), ", K in 16 ranges of 16 slices");
    SAME(split_of(160, 2304, 4096, gpu), ", the last 1 of 9 groups of 32 tiles in 8 slices of K");
    SAME(split_of(40, 512, 64, gpu), ""); // K is less than a block
    ze::gpu_model without = gpu;
    without.slm_per_group = without.slm_per_core = 0;
    SAME(split_of(40, 512, 8192, without), "");
}

// Every element of K is in one slice of one range, every tile is in one group, and the local memory suffices.
TEST(parts_make_the_whole) {
    std::set<bool> kinds[3];
    for (const uint32_t cores : {1u, 8u, 20u, 128u}) {
        ze::gpu_model model = eight_cores();
        model.xe_cores = cores;
        for (const zemm_dim_t m : {1, 40, 130, 1000})
            for (const zemm_dim_t n : {16, 300, 2304, 14336})
                for (const zemm_dim_t k : {32, 640, 4100, 70000}) {
                    const kernel_row row = tile_40x32();
                    const facts f = facts_of_tile(bytes(m, n, k), row);
                    const split s = best_split(f, model, {});
                    CHECK(s.ranges * s.k_range >= k && (s.ranges - 1) * s.k_range < k);
                    CHECK(s.slices * s.k_slice >= s.k_range && s.k_slice <= s.k_range);
                    CHECK(s.k_range == k || s.k_range % row.tile_k == 0);
                    CHECK(s.k_slice == s.k_range || s.k_slice % row.tile_k == 0);
                    CHECK(s.along_n * s.group_x * row.tile_n >= n && s.along_m * s.group_y * row.tile_m >= m);
                    CHECK(0 <= s.whole && s.whole <= s.groups());
                    CHECK((s.slices == 1) == (s.whole == s.groups()));
                    CHECK(s.sub_groups() % s.slices == 0);
                    CHECK(s.sliced() * s.sub_groups() == (s.groups() - s.whole) * s.tiles() * s.slices);
                    CHECK(s.ranges == 1 || (s.whole == 0 && s.slices > 1));
                    CHECK(local_bytes(s, row) <= model.slm_per_group);
                    kinds[0].insert(s.slices > 1);
                    kinds[1].insert(s.ranges > 1);
                    kinds[2].insert(s.slices > 1 && s.whole > 0);
                    split none = s;
                    none.slices = none.ranges = 1;
                    none.whole = none.groups();
                    none.k_range = none.k_slice = k;
                    if (s.tiles() == s.sub_groups())
                        CHECK(estimate(f, model, s).clocks <= estimate(f, model, none).clocks);
                }
    }
    for (const auto &kind : kinds)
        CHECK(kind.size() == 2); // cases with it and without it occurred
}

// A batch that shares its weights counts as rows of one matrix: always on a CPU, on Intel GPUs if its rows
// lie equally far apart.
TEST(rows_of_a_batch) {
    const zemm_dim_t src[] = {3, 5, 64}, wei[] = {1, 64, 32}, dst[] = {3, 5, 32}, apart[] = {400, 64, 1};
    kernel_row cpu = tile_40x32();
    cpu.family = isa_family::cpu;
    const auto counted = [&](const zemm_dim_t *strides, const kernel_row &row) {
        const problem p = make_problem(md_with_strides(3, src, zemm_u8, strides),
                                       md_with_string_tag(3, wei, zemm_s8, "abc"), nullptr,
                                       md_with_string_tag(3, dst, zemm_s32, "abc"), nullptr);
        const facts f = facts_of_tile(p, row);
        CHECK(f.rows.all == 15 && f.rows.likely == 15);
        return text("%lld x %lld", (long long)f.matrices, (long long)f.matrix_rows);
    };
    SAME(counted(nullptr, tile_40x32()), "1 x 15");
    SAME(counted(apart, tile_40x32()), "3 x 5");
    SAME(counted(apart, cpu), "1 x 15");
}

// Without XMX a block of K costs instructions beside its products. Therefore the larger tile is
// cheaper for many rows.
TEST(tiles_of_dp4a) {
    ze::gpu_model m = {};
    static_cast<ze::gpu_row &>(m) = ze::row_of({12u << 22}); // Xe-LP
    m.xe_cores = 6;
    m.xves_per_core = 16;
    m.slm_per_group = 64 << 10;
    kernel_row large = tile_40x32();
    large.tile_m = 24;
    large.tile_n = 16;
    large.tile_k = 64;
    large.group_x = 4;
    large.lanes = 8;
    large.grf = 128;
    large.family = isa_family::xe_dp4a;
    kernel_row small = large;
    small.tile_m = 8;
    small.tile_k = 32;
    small.group_y = 1;
    const problem many = bytes(2172, 14336, 4096), few = bytes(1, 14336, 4096);
    const auto clocks = [&](const problem &p, const kernel_row &row) {
        const facts f = facts_of_tile(p, row);
        return estimate(f, m, best_split(f, m, {})).clocks;
    };
    CHECK(clocks(many, large) < clocks(many, small));
    CHECK(clocks(few, small) < clocks(few, large));
}

} // namespace
