// SPDX-License-Identifier: Apache-2.0
// Something that the process looks for until it knows it for good: found, or missing. An attempt that fails
// for a reason that may pass is made again by the next call. Thread-safe; never destroyed by those who use
// it, as objects may outlive every static destructor.
#pragma once

#include <memory>
#include <mutex>

namespace zemm::ze {

template <typename T> class settled {
public:
    // T::lasts: whether the attempt need not be made again.
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
