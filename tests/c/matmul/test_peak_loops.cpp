// SPDX-License-Identifier: Apache-2.0
// The loops that measure a device's limits make as many multiply-adds as they are said to: their sums tell
// how many. Those with DPAS run in software.
#include <cmath>
#include <cstring>
#include <vector>

#include "check.h"
#include "peak/peak.hpp"
#include "primitive/spirv.hpp"
#include "ze/buffer.hpp"
#include "ze/module.hpp"
#include "ze/stream.hpp"

using namespace zemm;

namespace {

constexpr int most_lanes = 16, vector_bytes = 64;

// The sum of all sums of a work-item, or of a sub-group, after so many steps. All factors have this byte
// everywhere.
double total(const std::shared_ptr<ze::device> &device, const peak::product_loop &loop, int byte,
             bool are_integers, int64_t steps) {
    const auto kernel = ze::get_kernel(device, find_spirv(loop.module), loop.module, {}, "");
    const ze::buffer source(device, 2 * vector_bytes, ze::usm::host);
    const ze::buffer result(device, most_lanes * vector_bytes, ze::usm::host);
    std::memset(source.data(), byte, 2 * vector_bytes);
    std::memset(result.data(), 0, most_lanes * vector_bytes);
    const void *from = source.data();
    void *to = result.data();
    const ze::kernel_argument arguments[] = {{sizeof from, &from}, {sizeof to, &to}, {sizeof steps, &steps}};
    ze::stream stream(device, false);
    stream.launch(*kernel, {loop.lanes ? uint32_t(loop.lanes) : 1, 1, 1}, {1, 1, 1}, arguments);
    stream.wait();
    double sum = 0;
    for (size_t i = 0; i < most_lanes * vector_bytes / 4; ++i) {
        float as_float = 0;
        int32_t as_integer = 0;
        std::memcpy(&as_float, static_cast<char *>(to) + 4 * i, 4);
        std::memcpy(&as_integer, static_cast<char *>(to) + 4 * i, 4);
        sum += are_integers ? double(as_integer) : double(as_float);
    }
    return sum;
}

// Factors of 0x40 everywhere: integers of 64, and floats of about 3.
double product(zemm_peak_t what) {
    const float as_f32 = 3.00392198f, as_bf16 = 3.f; // 0x40404040, 0x4040
    switch (what) {
    case zemm_peak_int8:
    case zemm_peak_xmx_int8:
        return 64 * 64;
    case zemm_peak_bf16:
    case zemm_peak_xmx_half:
        return as_bf16 * as_bf16;
    default:
        return as_f32 * as_f32;
    }
}

bool can_run(const ze::device &device, const peak::product_loop &loop) {
    return !loop.has_tiles && (!loop.needs || device.has(*loop.needs));
}

} // namespace

int main() {
    std::string why;
    if (!ze::device_count(zemm_cpu, why))
        return 77;
    const auto device = ze::open_device(zemm_cpu, 0);
    for (const peak::product_loop &loop : peak::product_loops()) {
        if (!can_run(*device, loop) || !std::strcmp(loop.module, "peak_int8_avx2")) // its sums are factors
            continue;
        const bool are_integers = loop.what == zemm_peak_int8 || loop.what == zemm_peak_xmx_int8;
        const double before = total(device, loop, 0x40, are_integers, 1);
        const double after = total(device, loop, 0x40, are_integers, 4);
        const double adds = (after - before) / 3 / product(loop.what);
        printf("%s: %g of %g\n", loop.module, adds, loop.adds);
        CHECK(std::abs(adds - loop.adds) < 0.01 * loop.adds);
    }
    return 0;
}
