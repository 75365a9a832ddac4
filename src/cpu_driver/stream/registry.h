// SPDX-License-Identifier: Apache-2.0
//
// The streams (Submission) of the process, for all_streams.h.
#pragma once

#include <memory>
#include <mutex>
#include <set>

namespace ze_cpu {

class Submission;

/// OwnedSubmission::make() adds a stream, Submission::close() removes it again.
struct StreamRegistry {
    std::mutex mutex;
    std::set<std::weak_ptr<Submission>, std::owner_less<>> all;
};

inline StreamRegistry &registry() {
    // Leaked: static destructors of other libraries may still destroy queues.
    static StreamRegistry *leaked = new StreamRegistry;
    return *leaked;
}

} // namespace ze_cpu
