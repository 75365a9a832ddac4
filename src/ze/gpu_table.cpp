// SPDX-License-Identifier: Apache-2.0
// Intel GPUs by their IP version (gpus.def) and by their device id, which is from Intel's
// compute-runtime (device_ids_configs_*.h).
#include <algorithm>
#include <iterator>

#include "common/error.hpp"
#include "ze/gpu_model.hpp"

namespace zemm::ze {
namespace {

using enum gpu_family;

constexpr uint32_t KB = 1024;

struct release_row {
    uint32_t architecture, first, last; // releases
    gpu_row row;
};

constexpr bool yes = true, no = false;
constexpr release_row releases[] = {
#define ZEMM_GPU(family, name, ip, first, last, int8, f16, sub_group, grf, t128, t256, slm, l1, l1_rate,     \
                 block_2d, tf32)                                                                             \
    {ip,                                                                                                     \
     first,                                                                                                  \
     last,                                                                                                   \
     {family, name, int8, f16, sub_group, grf, t128, t256, slm * KB, l1 * KB, l1_rate, block_2d, tf32}},
#include "lists/gpus.def"
};

struct id_range {
    uint16_t first, last; // device ids
    uint8_t architecture, release;
};

// IP versions by device id, for drivers without ZE_extension_device_ip_version. Drivers for GPUs
// after Xe-LPG have that extension, so the table ends there.
constexpr id_range ids[] = {
    {0x9a40, 0x9a78, 12, 0},                                                     // Tiger Lake
    {0x4c80, 0x4c9a, 12, 1},                                                     // Rocket Lake
    {0x4680, 0x4693, 12, 2},  {0xa780, 0xa78b, 12, 2},                           // Alder, Raptor Lake-S
    {0x4626, 0x462a, 12, 3},  {0x46a0, 0x46c3, 12, 3},  {0xa720, 0xa7ad, 12, 3}, // Alder, Raptor Lake-P
    {0x46d0, 0x46d4, 12, 4},                                                     // Alder Lake-N
    {0x4905, 0x4909, 12, 10},                                                    // DG1
    {0x4f80, 0x4f84, 12, 55}, {0x5690, 0x5692, 12, 55}, {0x56a0, 0x56a2, 12, 55},
    {0x56af, 0x56af, 12, 55}, {0x56be, 0x56c0, 12, 55}, {0x56c2, 0x56c2, 12, 55}, // DG2 G10, ATS-M 150
    {0x4f87, 0x4f88, 12, 56}, {0x5693, 0x5695, 12, 56}, {0x56a5, 0x56a6, 12, 56},
    {0x56b0, 0x56b1, 12, 56}, {0x56ba, 0x56bd, 12, 56}, {0x56c1, 0x56c1, 12, 56}, // DG2 G11, ATS-M 75
    {0x4f85, 0x4f86, 12, 57}, {0x5696, 0x5697, 12, 57}, {0x56a3, 0x56a4, 12, 57},
    {0x56b2, 0x56b3, 12, 57}, // DG2 G12
    {0x0bd0, 0x0bd0, 12, 60}, {0x0bd5, 0x0bdb, 12, 60}, {0x0b69, 0x0b69, 12, 60},
    {0x0b6e, 0x0b6e, 12, 60}, {0x0bd4, 0x0bd4, 12, 61}, // Ponte Vecchio
    {0x7d40, 0x7d45, 12, 70}, {0x7d67, 0x7d67, 12, 70}, {0x7d55, 0x7d55, 12, 71},
    {0x7dd5, 0x7dd5, 12, 71},                           // Meteor Lake
    {0x7d51, 0x7d51, 12, 74}, {0x7dd1, 0x7dd1, 12, 74}, // Arrow Lake-H
};

} // namespace

gpu_row row_of(ip_version ip) {
    for (const release_row &r : releases)
        if (r.architecture == ip.architecture() && r.first <= ip.release() && ip.release() <= r.last)
            return r.row;
    gpu_row none;
    if (ip.value && ip.architecture() < 12) {
        none.family = older;
        none.name = "older than Xe";
    }
    return none;
}

ip_version ip_of_device_id(uint32_t vendor_id, uint32_t device_id) {
    constexpr uint32_t intel = 0x8086;
    const auto found = std::ranges::find_if(
        ids, [&](const id_range &range) { return range.first <= device_id && device_id <= range.last; });
    if (vendor_id != intel || found == std::end(ids))
        return {};
    return {uint32_t(found->architecture) << 22 | uint32_t(found->release) << 14};
}

const char *family_name(gpu_family family) {
    switch (family) {
    case older:
        return "older";
    case xe_lp:
        return "xe_lp";
    case xe_hpg:
        return "xe_hpg";
    case xe_hpc:
        return "xe_hpc";
    case xe2:
        return "xe2";
    case xe3:
        return "xe3";
    case unknown:
        break;
    }
    return "unknown";
}

std::string ip_version::text() const {
    return zemm::text("%u.%u", architecture(), release());
}

} // namespace zemm::ze
