// SPDX-License-Identifier: Apache-2.0
// Descriptors of primitives for the Python package alone. They have one implementation and no attributes, and
// key_text() tells them apart.
#pragma once

#include <initializer_list>

#include "primitive/sequence.hpp"

namespace zemm {

inline memory_desc dense(std::initializer_list<zemm_dim_t> dims, zemm_data_type_t dt) {
    return md_with_strides(int(dims.size()), dims.begin(), dt, nullptr);
}

class internal_desc : public zemm_primitive_desc {
public:
    internal_desc(zemm_engine_t e, copy_maker *make_copy) : zemm_primitive_desc(e), make_copy_(make_copy) {}

    zemm_primitive_kind_t kind() const override { return zemm_undefined_primitive; }
    const zemm_primitive_attr &attr() const override { return attr_; }
    bool empty() const override { return false; }
    bool next_impl() override { return false; }
    std::unique_ptr<zemm_primitive> create(cache_result &found) const override {
        return std::make_unique<sequence_primitive>(
            clone(), get_sequence(*this, found, [&] { return launches(); }), make_copy_);
    }
    std::vector<ze::kernel_source> sources() const override { return launches().sources(); }
    std::vector<const memory_desc *> key_tensors() const override { return {}; }

private:
    virtual sequence launches() const = 0;

    copy_maker *const make_copy_;
    const zemm_primitive_attr attr_ = {};
};

} // namespace zemm
