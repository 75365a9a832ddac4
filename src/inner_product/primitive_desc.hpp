// SPDX-License-Identifier: Apache-2.0
// The primitive descriptor of an inner product: that of the matmul which computes it, with the caller's
// tensors in the places of the matrices. Its primitive is the matmul's.
#pragma once

#include "inner_product/problem.hpp"
#include "matmul/desc/primitive_desc.hpp"

namespace zemm::inner_product {

class primitive_desc : public matmul::primitive_desc {
public:
    // matmul: of p's matrices in this order. usable: set to whether weights of format any can have the layout
    // that the matmul wants; if not, the descriptor is unfinished.
    primitive_desc(zemm_engine_t engine, problem p, dim_order order,
                   std::shared_ptr<const matmul::decision> matmul, bool &usable);

    zemm_primitive_kind_t kind() const override { return zemm_inner_product; }
    const zemm_primitive_attr &attr() const override { return attr_; }
    std::unique_ptr<zemm_primitive_desc> clone() const override;
    bool next_impl() override;
    std::unique_ptr<zemm_primitive> create(cache_result &found) const override;
    std::vector<ze::kernel_source> sources() const override { return launches().sources(); }
    std::vector<const memory_desc *> key_tensors() const override {
        return {&problem_.src, &problem_.wei, &problem_.bias, &problem_.dst};
    }
    void query(zemm_query_t what, int index, void *result) const override;
    std::string log_text() const override;

private:
    // Where the copies of tensors are, and the scratchpad of the matmul.
    struct layout {
        std::map<int, operand> copies; // by argument
        size_t matmul_at, size;
    };
    layout layout_of_scratchpad() const;
    bool take_from_matmul();
    sequence launches() const;

    problem problem_;
    dim_order order_;
    zemm_primitive_attr attr_;
    std::map<int, memory_desc> copies_; // dense tensors that are made first, by argument
};

// bias and attr may be NULL. Throws what make_problem() and the matmul's own function throw.
std::unique_ptr<zemm_primitive_desc> make_primitive_desc(zemm_engine_t engine, zemm_prop_kind_t prop_kind,
                                                         const memory_desc &src, const memory_desc &wei,
                                                         const memory_desc *bias, const memory_desc &dst,
                                                         const zemm_primitive_attr *attr);

} // namespace zemm::inner_product
