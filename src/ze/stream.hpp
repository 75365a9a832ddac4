// SPDX-License-Identifier: Apache-2.0
// A stream: an immediate command list whose work runs in the order of submission.
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

namespace zemm::ze {

struct kernel_argument {
    size_t size;       // bytes
    const void *value; // copied at launch; for a pointer argument, the address of the pointer
};

class stream {
public:
    stream(std::shared_ptr<device> dev, bool profiling); // owns its list
    stream(std::shared_ptr<device> dev, ze_command_list_handle_t list,
           bool profiling); // interop: the caller's list
    ~stream();
    stream(const stream &) = delete;
    stream &operator=(const stream &) = delete;

    ze_command_list_handle_t list() const { return list_; }
    bool profiling() const { return profiling_; }

    // Append a launch of groups x size work-items after everything appended before (waits: further events
    // that it waits for). Later launches see what it wrote.
    void launch(kernel &k, std::array<uint32_t, 3> group_size, std::array<uint32_t, 3> group_count,
                std::span<const kernel_argument> arguments, std::span<const ze_event_handle_t> waits = {});
    // Work appended from now on runs after the events.
    void wait_for(std::span<const ze_event_handle_t> waits);
    // Until everything appended has run. cancel_state: of the thread while it blocks.
    void wait(int cancel_state = PTHREAD_CANCEL_DISABLE);
    // Holds on to something that appended work uses, until the next wait().
    void keep(std::shared_ptr<const void> object);

    // A buffer of at least this many bytes for the library's scratchpad, kept by the stream and reused in
    // order: work appended later may overwrite it only after work appended before is done with it.
    void *scratchpad(size_t size);

    // One profiling entry per begin/end pair: the sum of the device times of the launches between them.
    void begin_entry();
    void end_entry();
    void cancel_entry();        // after a failure: an entry without launches is forgotten
    size_t entry_count() const; // entries since the reset
    void reset_profiling();
    // Nanoseconds of each entry since the reset; waits for the stream. runtime_error if the device has no
    // timestamps (a driver that simulates leaves them NOT_READY).
    std::vector<uint64_t> times();

private:
    struct impl;
    ze_result_t synchronize(int cancel_state);

    std::shared_ptr<device> device_;
    std::unique_ptr<impl> impl_;
    owned_list own_list_; // empty for the caller's
    const ze_command_list_handle_t list_;
    const bool profiling_;
};

} // namespace zemm::ze
