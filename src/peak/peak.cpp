// SPDX-License-Identifier: Apache-2.0
// Runs src/kernels/peak/*.cl many times and takes the shortest time.
#include "peak/peak.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "common/error.hpp"
#include "kernels/args/matmul_args.h"
#include "primitive/spirv.hpp"
#include "ze/buffer.hpp"
#include "ze/module.hpp"
#include "ze/stream.hpp"

namespace zemm::peak {
namespace {

constexpr size_t line = 64; // bytes of a cache line and of the vectors in the kernels

// Work-items, each a work-group of its own: many more than cores, so that no core idles before the
// end. On a GPU a work-group is a sub-group, of which many run on a core at the same time.
constexpr uint32_t compute_items = 256, memory_items = 512, sub_groups = 8192;
// Larger than the part of the last-level cache that one program usually gets.
constexpr size_t memory_bytes = size_t(256) << 20;
constexpr size_t lines_per_item = memory_bytes / line / memory_items;
constexpr size_t streams_per_item = 4; // STREAMS of peak_memory.cl

constexpr int launches = 48;

constexpr product_loop loop_on(zemm_peak_t what, const char *module, std::optional<ze::feature> needs,
                               int lanes, double adds) {
    return {what, module, needs, false, lanes, lanes ? 1000 : 5000, adds};
}

using enum ze::feature;
constexpr std::nullopt_t none = std::nullopt;
constexpr product_loop loops[] = {
#define ZEMM_PEAK(name, unit, needs, lanes, adds) loop_on(zemm_peak_##unit, #name, needs, lanes, adds),
#define ZEMM_PEAK_OF_TILES(name, unit, instruction, adds)                                                    \
    {zemm_peak_##unit, #name, unit, true, 0, 1000, adds},
#include "lists/kernels.def"
};

struct job {
    const char *module = nullptr, *entry = nullptr;
    std::vector<ze::spec_constant> constants = {};
    uint32_t group = 1, groups = 1; // work-items of a work-group, work-groups
    size_t source = 0, result = 0;  // bytes
    int64_t count = 0;              // the kernel's last argument
    double amount = 0;              // operations or bytes of one launch
};

// The name of a unit in isa.def; null for other values.
const char *unit_name(zemm_peak_t what) {
    switch (what) {
#define ZEMM_UNIT(name, isa, multiplies)                                                                     \
    case zemm_peak_##name:                                                                                   \
        return #name;
#include "lists/isa.def"
    default:
        return nullptr;
    }
}

job job_of(const product_loop &loop) {
    job j{.module = loop.module, .entry = loop.module, .groups = compute_items, .source = 2 * line};
    if (loop.has_tiles)
        j.constants.push_back({SPEC_TILES, kernels::TILES_IN_HARDWARE});
    if (loop.lanes) {
        j.group = uint32_t(loop.lanes);
        j.groups = sub_groups;
    }
    j.result = size_t(j.group) * j.groups * line;
    j.count = loop.steps;
    j.amount = 2 * loop.adds * double(j.groups) * double(loop.steps);
    return j;
}

// The loop by which a device's unit is measured. Throws unimplemented if there is none.
const product_loop &loop_of(zemm_peak_t what, const ze::device &device) {
    const char *name = unit_name(what);
    if (!name)
        fail(zemm_invalid_arguments, "what is %d, none of zemm_peak_t", int(what));
    const bool is_gpu = device.kind == zemm_gpu;
    std::optional<ze::feature> missing;
    for (const product_loop &loop : loops) {
        if (loop.what != what || (loop.lanes != 0) != is_gpu)
            continue;
        const bool has_it = !loop.needs || device.has(*loop.needs);
        if (has_it && (!is_gpu || loop.lanes == int(device.model.sub_group)))
            return loop;
        missing = loop.needs;
    }
    if (missing)
        fail(zemm_unimplemented,
             "device \"%s\" does not report %s, which the %s peak is measured with (features: %s)",
             device.name.c_str(), ze::feature_name(*missing), name,
             device.feature_names.empty() ? "none" : device.feature_names.c_str());
    fail(zemm_unimplemented,
         is_gpu ? "device \"%s\": the %s peak is measured on CPU devices only, its kernel would not keep a "
                  "GPU busy"
                : "device \"%s\" is a CPU, which has the instructions of the %s peak in software only",
         device.name.c_str(), name);
}

job job_of(zemm_peak_t what, const ze::device &device) {
    if (what != zemm_peak_copy && what != zemm_peak_read)
        return job_of(loop_of(what, device));
    if (device.kind != zemm_cpu)
        fail(zemm_unimplemented,
             "device \"%s\": the bandwidth is measured on CPU devices only, its kernel would not keep a GPU "
             "busy",
             device.name.c_str());
    job j{.module = "peak_memory", .groups = memory_items, .amount = double(memory_bytes)};
    if (what == zemm_peak_copy) {
        j.entry = "peak_copy";
        j.source = j.result = memory_bytes / 2;
        j.count = lines_per_item / 2;
    } else {
        j.entry = "peak_read";
        j.source = memory_bytes;
        j.result = memory_items * line;
        j.count = lines_per_item / streams_per_item;
    }
    return j;
}

} // namespace

std::span<const product_loop> product_loops() {
    return loops;
}

double measure(const std::shared_ptr<ze::device> &device, zemm_peak_t what) {
    const job j = job_of(what, *device);
    const auto kernel = ze::get_kernel(device, find_spirv(j.module), j.entry, j.constants, "");
    // Host memory, as in matmuls on a CPU. Write it first: the system maps all pages that were
    // never written to one physical page, which would stay in the cache.
    const ze::buffer source(device, j.source, ze::usm::host), result(device, j.result, ze::usm::host);
    // No product of these bytes is a denormal, as f32, bf16 or f16.
    std::memset(source.data(), 0x3c, j.source);
    std::memset(result.data(), 0, j.result);
    const void *from = source.data();
    void *to = result.data();
    const ze::kernel_argument arguments[] = {
        {sizeof from, &from}, {sizeof to, &to}, {sizeof j.count, &j.count}};
    ze::stream stream(device, true);
    for (int i = 0; i < launches; ++i) {
        stream.begin_entry();
        stream.launch(*kernel, {j.group, 1, 1}, {j.groups, 1, 1}, arguments);
        stream.end_entry();
    }
    const std::vector<uint64_t> times = stream.times();
    const uint64_t best = *std::ranges::min_element(times);
    if (!best)
        fail(zemm_runtime_error, "device \"%s\" says that %s took no time", device->name.c_str(), j.entry);
    return j.amount / (double(best) * 1e-9);
}

} // namespace zemm::peak
