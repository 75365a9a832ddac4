// SPDX-License-Identifier: Apache-2.0
#include "all_streams.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "registry.h"

namespace ze_cpu {
namespace {

std::vector<std::shared_ptr<Submission>> all_streams() {
    std::lock_guard lock(registry().mutex);
    std::vector<std::shared_ptr<Submission>> streams;
    for (const auto &entry : registry().all)
        if (auto stream = entry.lock())
            streams.push_back(std::move(stream));
    return streams;
}

/// Pauses the streams that are added to it. Its destructor resumes them.
class PausedStreams {
public:
    PausedStreams() = default;
    ~PausedStreams() {
        for (const auto &stream : streams_)
            stream->unpause();
    }
    PausedStreams(const PausedStreams &) = delete;
    PausedStreams &operator=(const PausedStreams &) = delete;

    void add(std::shared_ptr<Submission> stream) {
        const auto [entry, is_new] = streams_.insert(std::move(stream));
        if (is_new)
            (*entry)->pause();
    }
    /// Whether all registered streams are among the paused ones. The registry's mutex must be held.
    bool are_all() const {
        return std::all_of(registry().all.begin(), registry().all.end(), [this](const auto &entry) {
            const auto stream = entry.lock();
            return !stream || streams_.count(stream);
        });
    }

private:
    std::set<std::shared_ptr<Submission>> streams_;
};

} // namespace

void run_while_paused(const std::function<void()> &work) {
    PausedStreams paused;
    for (;;) {
        // Without the registry's mutex: a running kernel may wait for the host, and the host may
        // have to create a stream first.
        for (auto &stream : all_streams())
            paused.add(std::move(stream));
        std::lock_guard lock(registry().mutex); // no stream can be added during the work
        if (paused.are_all()) {
            work();
            return;
        }
    }
}

ze_result_t synchronize_all() {
    ze_result_t first_error = ZE_RESULT_SUCCESS;
    // Without the registry's mutex, so that other threads can create and destroy streams meanwhile.
    for (const auto &stream : all_streams()) {
        const ze_result_t result = stream->wait(Deadline(UINT64_MAX));
        if (first_error == ZE_RESULT_SUCCESS)
            first_error = result;
    }
    return first_error;
}

bool finish_queues(const Deadline &deadline) try {
    const auto streams = all_streams();
    auto count = [&] {
        uint64_t sum = 0;
        for (const auto &stream : streams)
            sum += stream->enqueued_count();
        return sum;
    };
    uint64_t before = 0;
    do { // a step that finishes may enqueue commands, in any stream
        before = count();
        for (const auto &stream : streams)
            if (!stream->finish_queue(deadline))
                return false;
    } while (count() != before);
    return true;
} catch (...) {
    return false;
}

} // namespace ze_cpu
