// SPDX-License-Identifier: Apache-2.0
// Appends work to an immediate command list, waits for it and reads its timestamps.
#include "ze/stream.hpp"

#include <algorithm>
#include <unordered_map>

#include "common/cancellation.hpp"
#include "common/error.hpp"
#include "common/fork_gate.hpp"
#include "ze/cpu_threads.hpp"
#include "ze/event_pool.hpp"

namespace zemm::ze {
namespace {

// ZE_COMMAND_QUEUE_FLAG_IN_ORDER. Drivers know it from API version 1.7 on, headers before 1.9 do
// not have it.
constexpr ze_command_queue_flags_t in_order_flag = ZE_BIT(1);
constexpr uint32_t in_order_minor = 7;
constexpr uint32_t host_synchronize_minor = 6;
constexpr uint32_t events_per_pool = 128;

// The validation layer of a loader that is older than the driver refuses flags that it does not
// know.
bool is_unknown_flag(ze_result_t result) {
    return result == ZE_RESULT_ERROR_INVALID_ENUMERATION || result == ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION;
}

// ordered becomes true if the driver keeps the order of launches without barriers.
owned_list new_list(const device &dev, bool &ordered) {
    auto desc = structure<ze_command_queue_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
    desc.ordinal = dev.compute_queue_ordinal;
    desc.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
    ze_command_list_handle_t list = nullptr;
    ordered = dev.has_api(in_order_minor);
    desc.flags = ordered ? in_order_flag : 0;
    ze_result_t result = dev.fn.zeCommandListCreateImmediate(dev.context, dev.handle, &desc, &list);
    if (ordered && is_unknown_flag(result)) {
        desc.flags = 0;
        ordered = false;
        result = dev.fn.zeCommandListCreateImmediate(dev.context, dev.handle, &desc, &list);
    }
    check(result, "zeCommandListCreateImmediate");
    return {dev.fn, list};
}

// A list that a launch has left before its append returns. libze_cpu runs launches of few work-groups on the
// thread that appends them then (docs/level_zero.md).
owned_list new_brief_list(const device &dev) {
    auto desc = structure<ze_command_queue_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
    desc.ordinal = dev.compute_queue_ordinal;
    desc.mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
    desc.priority = ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH;
    ze_command_list_handle_t list = nullptr;
    check(dev.fn.zeCommandListCreateImmediate(dev.context, dev.handle, &desc, &list),
          "zeCommandListCreateImmediate");
    return {dev.fn, list};
}

owned_list new_lent_list(const device &dev, const zemm_threadpool_t &pool) {
    const lent_threads lent(pool);
    return new_brief_list(dev);
}

// Makes a call that blocks until work is done. Meanwhile forks need not wait for this thread, and
// the thread can be cancelled if cancel_state allows it.
template <typename F> ze_result_t block(F &&call, int cancel_state) {
    const fork_gate::pause outside;
    const cancellable here(cancel_state);
    const ze_result_t result = call();
    pthread_testcancel(); // drivers disable cancellation while they block, so check here
    return result;
}

} // namespace

struct stream::impl {
    explicit impl(const device &dev)
        : wait_events(dev, false, 1), launch_events(dev, true, events_per_pool),
          host_synchronize(dev.fn.zeCommandListHostSynchronize && dev.has_api(host_synchronize_minor)) {}

    using entry = std::vector<ze_event_handle_t>; // one event per launch

    event_pool wait_events, launch_events;
    bool host_synchronize;
    bool ordered = false;          // the driver keeps the order of launches without barriers
    bool barrier_first = false;    // the next launch needs a barrier before it
    bool is_idle = true;           // nothing has been appended since the last wait
    bool is_shared = false;        // the caller may also append to the list
    bool is_computed_here = false; // by a thread pool of the caller
    owned_list brief;              // for brief launches while the stream is idle; made at the first one
    // What was read after the range that begins at an address.
    std::unordered_map<const void *, std::array<range, most_ranges>> followers;
    const void *last_read = nullptr;
    bool in_entry = false;
    std::vector<entry> entries;
    std::unique_ptr<buffer> scratch;
    // Kept until the next wait(), because work on the device may still use them.
    std::vector<std::unique_ptr<buffer>> retired;
    std::vector<std::shared_ptr<const void>> in_flight; // the first few, each once
    std::unordered_map<const void *, std::shared_ptr<const void>> more_in_flight;
};

stream::stream(std::shared_ptr<device> dev, bool profiling)
    : device_(std::move(dev)), impl_(std::make_unique<impl>(*device_)),
      own_list_(new_list(*device_, impl_->ordered)), list_(own_list_.get()), profiling_(profiling) {}

stream::stream(std::shared_ptr<device> dev, ze_command_list_handle_t list, bool profiling)
    : device_(std::move(dev)), impl_(std::make_unique<impl>(*device_)), list_(list), profiling_(profiling) {
    // Level Zero does not tell whether a list is in order, nor whether the caller has appended to
    // it.
    impl_->barrier_first = true;
}

stream::stream(std::shared_ptr<device> dev, const zemm_threadpool_t &pool)
    : device_(std::move(dev)), impl_(std::make_unique<impl>(*device_)),
      own_list_(new_lent_list(*device_, pool)), list_(own_list_.get()), profiling_(false) {
    impl_->ordered = impl_->is_computed_here = true;
}

stream::~stream() {
    constexpr int attempts = 3; // a failure may pass, such as a lack of memory
    for (int i = 0; i < attempts; i++)
        try {
            const ze_result_t result = synchronize(PTHREAD_CANCEL_DISABLE);
            if (result == ZE_RESULT_SUCCESS || result == ZE_RESULT_ERROR_DEVICE_LOST)
                return; // nothing runs any more
        } catch (const std::exception &) {
        }
    // A destructor cannot report the failure. Work on the device may still use the list and the
    // buffers, so leak them rather than free them.
    own_list_.release();
    impl_.release();
}

ze_command_list_handle_t stream::list() {
    impl_->is_shared = true;
    return list_;
}

// The list for the next launch.
ze_command_list_handle_t stream::list_for(bool is_brief) {
    if (!is_brief || !impl_->is_idle || impl_->is_computed_here || impl_->is_shared || !own_list_ ||
        device_->kind != zemm_cpu) {
        impl_->is_idle = false;
        return list_;
    }
    if (!impl_->brief)
        impl_->brief = new_brief_list(*device_);
    return impl_->brief.get();
}

void stream::launch(kernel &k, std::array<uint32_t, 3> group_size, std::array<uint32_t, 3> group_count,
                    std::span<const kernel_argument> arguments, std::span<const ze_event_handle_t> waits,
                    bool is_brief) {
    const api &fn = device_->fn;
    if (std::ranges::find(group_count, 0u) != group_count.end())
        return wait_for(waits);
    std::vector<ze_event_handle_t> wait_list(waits.begin(), waits.end()); // Level Zero takes no const array
    std::lock_guard hold(k.lock);
    check(fn.zeKernelSetGroupSize(k.handle(), group_size[0], group_size[1], group_size[2]),
          "zeKernelSetGroupSize");
    for (uint32_t i = 0; i < arguments.size(); i++) {
        const ze_result_t result =
            fn.zeKernelSetArgumentValue(k.handle(), i, arguments[i].size, arguments[i].value);
        if (result != ZE_RESULT_SUCCESS)
            fail(zemm_runtime_error,
                 "argument %u (%zu bytes) of a kernel: zeKernelSetArgumentValue returned %s", i,
                 arguments[i].size, result_text(result));
    }
    keep(k.shared_from_this());
    const ze_command_list_handle_t list = list_for(is_brief && waits.empty());
    if (impl_->barrier_first)
        check(fn.zeCommandListAppendBarrier(list_, nullptr, 0, nullptr), "zeCommandListAppendBarrier");
    ze_event_handle_t event = nullptr;
    if (impl_->in_entry) {
        impl_->entries.back().reserve(impl_->entries.back().size() + 1);
        event = impl_->launch_events.take();
    }
    const ze_group_count_t groups = {group_count[0], group_count[1], group_count[2]};
    const ze_result_t result = fn.zeCommandListAppendLaunchKernel(
        list, k.handle(), &groups, event, static_cast<uint32_t>(wait_list.size()),
        wait_list.empty() ? nullptr : wait_list.data());
    if (result != ZE_RESULT_SUCCESS && event)
        impl_->launch_events.give_back(event);
    check(result, "zeCommandListAppendLaunchKernel");
    if (event)
        impl_->entries.back().push_back(event);
    if (!impl_->ordered)
        impl_->barrier_first = true;
}

void stream::has_read(std::span<const range> ranges) {
    constexpr size_t most_followers = 4096;
    if (!impl_->is_idle || !impl_->brief || ranges.empty())
        return;
    if (impl_->followers.size() >= most_followers)
        impl_->followers.clear();
    auto &after_last = impl_->followers[impl_->last_read];
    after_last = {};
    std::ranges::copy(ranges, after_last.begin());
    impl_->last_read = ranges.front().begin;
    const auto found = impl_->followers.find(impl_->last_read);
    if (found == impl_->followers.end())
        return;
    for (const range &next : found->second)
        if (next.bytes != 0)
            check(device_->fn.zeCommandListAppendMemoryPrefetch(impl_->brief.get(), next.begin, next.bytes),
                  "zeCommandListAppendMemoryPrefetch");
}

void stream::wait_for(std::span<const ze_event_handle_t> waits) {
    if (waits.empty())
        return;
    impl_->is_idle = false;
    std::vector<ze_event_handle_t> wait_list(waits.begin(), waits.end());
    check(device_->fn.zeCommandListAppendBarrier(list_, nullptr, static_cast<uint32_t>(wait_list.size()),
                                                 wait_list.data()),
          "zeCommandListAppendBarrier");
}

void stream::keep(std::shared_ptr<const void> object) {
    constexpr size_t few = 32; // a look at so many takes less time than an allocation
    auto &kept = impl_->in_flight;
    if (std::ranges::find(kept, object) != kept.end())
        return;
    if (kept.size() < few)
        kept.push_back(std::move(object));
    else
        impl_->more_in_flight.try_emplace(object.get(), std::move(object));
}

ze_result_t stream::synchronize(int cancel_state) {
    const api &fn = device_->fn;
    if (impl_->is_idle && own_list_ && !impl_->is_shared) // a cancelled thread ends here all the same
        return block([] { return ZE_RESULT_SUCCESS; }, cancel_state);
    if (impl_->host_synchronize) {
        const ze_result_t result =
            block([&] { return fn.zeCommandListHostSynchronize(list_, UINT64_MAX); }, cancel_state);
        if (result != ZE_RESULT_ERROR_UNSUPPORTED_FEATURE)
            return result;
        impl_->host_synchronize = false;
    }
    // Older drivers: append a barrier that signals an event when all work before it is done.
    const ze_event_handle_t event = impl_->wait_events.take();
    ze_result_t result = fn.zeCommandListAppendBarrier(list_, event, 0, nullptr);
    if (result == ZE_RESULT_SUCCESS)
        result = block([&] { return fn.zeEventHostSynchronize(event, UINT64_MAX); }, cancel_state);
    if (result == ZE_RESULT_SUCCESS)
        impl_->wait_events.give_back(event);
    return result;
}

void stream::wait(int cancel_state) {
    check(synchronize(cancel_state), impl_->host_synchronize
                                         ? "waiting for the stream: zeCommandListHostSynchronize"
                                         : "waiting for the stream: zeEventHostSynchronize");
    impl_->retired.clear();
    impl_->is_idle = true;
    impl_->in_flight.clear();
    impl_->more_in_flight.clear();
    impl_->barrier_first = !own_list_; // the caller may append to its own list meanwhile
}

void *stream::scratchpad(size_t size) {
    std::unique_ptr<buffer> &scratch = impl_->scratch;
    if (!size)
        return nullptr;
    if (!scratch || scratch->size() < size) {
        auto larger = std::make_unique<buffer>(device_, size, usm::device);
        impl_->retired.reserve(impl_->retired.size() + 1);
        if (scratch)
            impl_->retired.push_back(std::move(scratch));
        scratch = std::move(larger);
    }
    return scratch->data();
}

void stream::begin_entry() {
    if (!profiling_)
        return;
    impl_->entries.emplace_back();
    impl_->in_entry = true;
}

void stream::end_entry() {
    impl_->in_entry = false;
}

void stream::cancel_entry() {
    end_entry();
    if (!impl_->entries.empty() && impl_->entries.back().empty())
        impl_->entries.pop_back();
}

size_t stream::entry_count() const {
    return impl_->entries.size();
}

void stream::reset_profiling() {
    wait(); // submitted work still signals the events, which are reused below
    for (const impl::entry &launches : impl_->entries)
        for (ze_event_handle_t event : launches)
            impl_->launch_events.give_back(event);
    impl_->entries.clear();
}

std::vector<uint64_t> stream::times() {
    wait();
    std::vector<uint64_t> sums;
    for (const impl::entry &launches : impl_->entries) {
        uint64_t ticks = 0;
        for (ze_event_handle_t event : launches) {
            ze_kernel_timestamp_result_t stamp = {};
            const ze_result_t result = device_->fn.zeEventQueryKernelTimestamp(event, &stamp);
            if (result == ZE_RESULT_NOT_READY)
                fail(zemm_runtime_error,
                     "device \"%s\" keeps no timestamps: zeEventQueryKernelTimestamp returned "
                     "ZE_RESULT_NOT_READY for "
                     "work that is done, as drivers do that simulate (Intel's AUB mode)",
                     device_->name.c_str());
            check(result, "zeEventQueryKernelTimestamp");
            // The counter wraps at its valid bits.
            ticks += (stamp.global.kernelEnd - stamp.global.kernelStart) & device_->timestamp_mask;
        }
        sums.push_back(
            static_cast<uint64_t>(static_cast<double>(ticks) * device_->timestamp_period_ns + 0.5));
    }
    return sums;
}

} // namespace zemm::ze
