// SPDX-License-Identifier: Apache-2.0
// Primitives with runtime dimensions or strides. At execution the memories give the missing values,
// and an ordinary primitive of these values runs. Its kernels come from the device's module cache, since
// constants of a module do not depend on shapes.
#pragma once

#include <map>

#include "primitive/deferred.hpp"

namespace zemm {

// The descriptors of src, weights, bias and dst, by ZEMM_ARG_...
using tensor_map = std::map<int, memory_desc>;

// A value for a runtime dimension that stands for all others in the choice of an implementation: at
// least `least`, and a multiple of the groups of the attributes that cut the dimension.
class likely_dim {
public:
    explicit likely_dim(zemm_dim_t least) : least_(least) {}
    // index: of the dimension among the entry's groups, 0 or 1.
    void fit_groups(const quant_entry *entry, int index);
    zemm_dim_t value() const { return (least_ + unit_ - 1) / unit_ * unit_; }

private:
    zemm_dim_t least_, unit_ = 1;
};

class runtime_primitive_desc : public deferred_desc {
public:
    std::unique_ptr<zemm_primitive> create(cache_result &found) const override;
    std::vector<const memory_desc *> key_tensors() const override;

    // The descriptor of the primitive that runs with these tensors. Throws invalid_arguments if
    // they contradict each other or the attributes.
    std::unique_ptr<zemm_primitive_desc> of_tensors(const tensor_map &tensors) const;

protected:
    using deferred_desc::deferred_desc;

    // The descriptor for these tensors, with the implementation that is best for them.
    virtual std::unique_ptr<zemm_primitive_desc> resolved(const tensor_map &tensors) const = 0;
};

class runtime_primitive : public zemm_primitive {
public:
    explicit runtime_primitive(std::unique_ptr<const runtime_primitive_desc> pd)
        : zemm_primitive(std::move(pd)) {}
    void execute(zemm_stream &stream, std::span<const zemm_exec_arg_t> args,
                 std::span<const ze_event_handle_t> waits) const override;

private:
    // The primitive for the shapes that the memories have.
    std::shared_ptr<const zemm_primitive> of_memories(std::span<const zemm_exec_arg_t> args) const;

    mutable recent_primitives by_shape_;
};

} // namespace zemm
