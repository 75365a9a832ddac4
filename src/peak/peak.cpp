// SPDX-License-Identifier: Apache-2.0
// Runs src/kernels/peak_*.cl many times and takes the shortest time.
#include "peak/peak.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "common/error.hpp"
#include "kernels/spirv.hpp"
#include "ze/buffer.hpp"
#include "ze/module.hpp"
#include "ze/stream.hpp"

namespace zemm::peak {
namespace {

constexpr size_t line = 64; // bytes of a cache line and of the vectors in the kernels

// Work-items, each a work-group of its own: many more than cores, so that no core idles before the
// end.
constexpr uint32_t compute_items = 256, memory_items = 512;
// Steps of a work-item, so many that a launch takes some milliseconds, and vector sums in one step.
constexpr int64_t compute_steps = 5000, sums_per_step = 28;
constexpr double int8_ops_per_sum = 2 * 64, f32_ops_per_sum = 2 * 16;
// Larger than the part of the last-level cache that one program usually gets.
constexpr size_t memory_bytes = size_t(256) << 20;
constexpr size_t lines_per_item = memory_bytes / line / memory_items;
constexpr size_t streams_per_item = 4; // STREAMS of peak_memory.cl

constexpr int launches = 48;

struct job {
    const char *module, *entry;
    uint32_t items;
    size_t source, result; // bytes
    int64_t count;         // the kernel's last argument
    double amount;         // operations or bytes of one launch
};

job job_of(zemm_peak_t what) {
    const double sums = double(compute_items) * compute_steps * sums_per_step;
    switch (what) {
    case zemm_peak_int8:
        return {"peak_int8",          "peak_int8",   compute_items,          2 * line,
                compute_items * line, compute_steps, sums * int8_ops_per_sum};
    case zemm_peak_f32:
        return {"peak_f32",           "peak_f32",    compute_items,         2 * line,
                compute_items * line, compute_steps, sums * f32_ops_per_sum};
    case zemm_peak_copy:
        return {"peak_memory",    "peak_copy",        memory_items,        memory_bytes / 2,
                memory_bytes / 2, lines_per_item / 2, double(memory_bytes)};
    case zemm_peak_read:
        return {"peak_memory",       "peak_read",         memory_items,
                memory_bytes,        memory_items * line, lines_per_item / streams_per_item,
                double(memory_bytes)};
    }
    fail(zemm_invalid_arguments, "what is %d, none of zemm_peak_t", int(what));
}

void check_device(const ze::device &device, zemm_peak_t what) {
    if (device.kind != zemm_cpu)
        fail(zemm_unimplemented,
             "device \"%s\": peaks are measured on CPU devices only, their kernels would not keep a GPU busy",
             device.name.c_str());
    if (what == zemm_peak_int8 && !device.has(ze::feature::avx512_vnni))
        fail(zemm_unimplemented,
             "device \"%s\" does not report avx512_vnni, which the int8 peak is measured with (features: %s)",
             device.name.c_str(), device.feature_names.empty() ? "none" : device.feature_names.c_str());
}

} // namespace

double measure(const std::shared_ptr<ze::device> &device, zemm_peak_t what) {
    const job j = job_of(what);
    check_device(*device, what);
    const auto kernel = ze::get_kernel(device, kernels::find_spirv(j.module), j.entry, {}, "");
    // Host memory, as in matmuls on a CPU. Write it first: the system maps all pages that were
    // never written to one physical page, which would stay in the cache.
    const ze::buffer source(device, j.source, ze::usm::host), result(device, j.result, ze::usm::host);
    std::memset(source.data(), 1, j.source);
    std::memset(result.data(), 0, j.result);
    const void *from = source.data();
    void *to = result.data();
    const ze::kernel_argument arguments[] = {
        {sizeof from, &from}, {sizeof to, &to}, {sizeof j.count, &j.count}};
    ze::stream stream(device, true);
    for (int i = 0; i < launches; ++i) {
        stream.begin_entry();
        stream.launch(*kernel, {1, 1, 1}, {j.items, 1, 1}, arguments);
        stream.end_entry();
    }
    const std::vector<uint64_t> times = stream.times();
    const uint64_t best = *std::ranges::min_element(times);
    if (!best)
        fail(zemm_runtime_error, "device \"%s\" says that %s took no time", device->name.c_str(), j.entry);
    return j.amount / (double(best) * 1e-9);
}

} // namespace zemm::peak
