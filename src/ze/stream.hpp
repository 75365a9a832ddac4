// SPDX-License-Identifier: Apache-2.0
// A stream: an immediate command list whose work runs in the order of submission, with the events
// that time it and the buffers that it uses.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <pthread.h>

#include "ze/buffer.hpp"
#include "ze/device.hpp"
#include "ze/module.hpp"
#include "zemm/zemm_types.h"

namespace zemm::ze {

struct kernel_argument {
    size_t size;       // bytes
    const void *value; // the launch copies it; for a pointer argument, the address of the pointer
};

class stream {
public:
    stream(std::shared_ptr<device> dev, bool profiling); // owns its list
    stream(std::shared_ptr<device> dev, ze_command_list_handle_t list,
           bool profiling); // interop: the caller's list
    // The caller's threads compute. dev: the CPU device.
    stream(std::shared_ptr<device> dev, const zemm_threadpool_t &pool);
    ~stream();
    stream(const stream &) = delete;
    stream &operator=(const stream &) = delete;

    // For the caller, who may append to it from now on.
    ze_command_list_handle_t list();
    bool profiling() const { return profiling_; }

    // Appends a launch of group_count work-groups of group_size work-items. It runs after all work
    // appended before and after the events in waits; later launches see what it wrote. is_brief: the launch
    // may run before this returns, on this thread.
    void launch(kernel &k, std::array<uint32_t, 3> group_size, std::array<uint32_t, 3> group_count,
                std::span<const kernel_argument> arguments, std::span<const ze_event_handle_t> waits = {},
                bool is_brief = false);
    // Notes what the last launch has read, up to most_ranges. If the stream knows what was read after it the
    // last time, a CPU device is asked to prefetch that, as its memory is idle until the next launch.
    struct range {
        const void *begin;
        size_t bytes;
    };
    static constexpr size_t most_ranges = 4;
    void has_read(std::span<const range> ranges);
    // Work appended from now on runs after the events.
    void wait_for(std::span<const ze_event_handle_t> waits);
    // Returns when all appended work has run. cancel_state: the thread's pthread cancel state while
    // it blocks.
    void wait(int cancel_state = PTHREAD_CANCEL_DISABLE);
    // Keeps an object that appended work uses alive until the next wait().
    void keep(std::shared_ptr<const void> object);

    // A device buffer of at least size bytes for the library's scratchpad; nullptr for size 0. The
    // stream owns it and returns it again, which is safe because work on the stream runs in order.
    void *scratchpad(size_t size);

    // The launches between begin_entry() and end_entry() make one profiling entry, the sum of their
    // device times.
    void begin_entry();
    void end_entry();
    void cancel_entry();        // ends the entry after a failure; removes it if it has no launches
    size_t entry_count() const; // entries since the last reset
    void reset_profiling();
    // Waits for the stream and returns the nanoseconds of each entry since the last reset. Throws
    // runtime_error if the device writes no timestamps (a simulating driver leaves them NOT_READY).
    std::vector<uint64_t> times();

private:
    struct impl;
    ze_result_t synchronize(int cancel_state);
    ze_command_list_handle_t list_for(bool is_brief);

    std::shared_ptr<device> device_;
    std::unique_ptr<impl> impl_;
    owned_list own_list_; // empty if the caller owns the list
    const ze_command_list_handle_t list_;
    const bool profiling_;
};

} // namespace zemm::ze
