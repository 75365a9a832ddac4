// SPDX-License-Identifier: Apache-2.0
// A result that the process computes once and keeps. A failure that may pass, such as a lack of
// memory, is not kept: the next call tries again. Thread-safe. Users allocate it and never destroy
// it, because zemm objects may outlive static destructors.
#pragma once

#include <memory>
#include <mutex>

namespace zemm::ze {

template <typename T> class settled {
public:
    // The result has a member `lasts`: true if it is final and shall be kept.
    using attempt = std::shared_ptr<const T> (*)();
    explicit settled(attempt make) : make_(make) {}

    std::shared_ptr<const T> get() {
        const std::lock_guard hold(lock_);
        if (result_)
            return result_;
        std::shared_ptr<const T> made = make_();
        if (made->lasts)
            result_ = made;
        return made;
    }

private:
    const attempt make_;
    std::mutex lock_;
    std::shared_ptr<const T> result_;
};

} // namespace zemm::ze
