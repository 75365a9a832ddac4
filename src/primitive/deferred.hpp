// SPDX-License-Identifier: Apache-2.0
// Primitives that choose an implementation at each execution, because only then they know shapes or
// groups. An ordinary primitive that is made for these then runs, and recent ones are kept.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "common/lru.hpp"
#include "primitive/primitive_desc.hpp"

namespace zemm {

class deferred_desc : public zemm_primitive_desc {
public:
    zemm_primitive_kind_t kind() const override { return likely_->kind(); }
    // The implementation for what is likely. An execution may have another one, which its log line names.
    const char *impl_name() const override { return likely_->impl_name(); }
    bool empty() const override { return false; }
    bool next_impl() override;
    std::vector<ze::kernel_source> sources() const override { return likely_->sources(); }

protected:
    // likely: a descriptor of the same problem that stands for all executions.
    deferred_desc(zemm_engine_t engine, std::unique_ptr<zemm_primitive_desc> likely)
        : zemm_primitive_desc(engine), likely_(std::move(likely)) {}
    deferred_desc(const deferred_desc &other);

    const zemm_primitive_desc &likely() const { return *likely_; }
    zemm_primitive_desc &likely() { return *likely_; }
    // Adds this primitive to the primitive cache if it is not there. The entry has no content: what
    // executions need is in the entries of the ordinary primitives. Returns whether it was there.
    cache_result enter_cache() const;
    // Moves the descriptor of an execution past implementations that next_impl() has passed over, unless
    // no other takes the problem, and past those that the driver failed to build.
    std::unique_ptr<zemm_primitive_desc> settle(std::unique_ptr<zemm_primitive_desc> best) const;

private:
    std::unique_ptr<zemm_primitive_desc> likely_;
    std::vector<std::string> passed_; // implementations that next_impl() has left behind
};

// The primitives of recent executions, by a key of the caller's. Threads may share it.
class recent_primitives {
public:
    // The primitive of a key. Makes it from the descriptor that make() returns if there is none.
    std::shared_ptr<const zemm_primitive>
    get(const std::string &key, const std::function<std::unique_ptr<zemm_primitive_desc>()> &make);
    void add(const std::string &key, std::shared_ptr<const zemm_primitive> primitive);

private:
    static constexpr size_t most = 128;
    std::mutex lock_;
    lru<std::shared_ptr<const zemm_primitive>> by_key_;
};

} // namespace zemm
