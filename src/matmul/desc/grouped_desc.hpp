// SPDX-License-Identifier: Apache-2.0
// The primitive descriptor and the primitive of a grouped matmul (grouped.hpp). Which kernel is best
// depends on the sizes of the groups, which an execution reads from its memories.
#pragma once

#include <map>
#include <mutex>

#include "matmul/desc/primitive_desc.hpp"
#include "matmul/problem/grouped.hpp"
#include "primitive/deferred.hpp"

namespace zemm::matmul {

class grouped_desc : public deferred_desc {
public:
    // Throws what candidates() throws.
    grouped_desc(zemm_engine_t engine, grouped_problem p);

    const zemm_primitive_attr &attr() const override { return problem_.asked.attr; }
    std::unique_ptr<zemm_primitive_desc> clone() const override;
    bool next_impl() override;
    std::unique_ptr<zemm_primitive> create(cache_result &found) const override;
    std::vector<const memory_desc *> key_tensors() const override {
        const problem &p = problem_.asked;
        return {&p.src, &p.wei, &p.bias, &p.dst};
    }
    std::string tuning_text() const override;
    std::string log_text() const override { return log_text_of_impl(impl_name()); }

    bool has_row_groups() const { return problem_.batched.grouped == grouping::rows; }
    std::string log_text_of_impl(const char *impl_name) const;
    // The descriptor for groups of these sizes, rounded up to powers of two.
    std::unique_ptr<zemm_primitive_desc> of_sizes(const group_sizes &sizes) const;

private:
    void take_from_likely();

    grouped_problem problem_; // weights with the layout that the likely implementation wants
};

class grouped_primitive : public static_primitive {
public:
    // likely: the primitive for groups of the likely sizes.
    grouped_primitive(std::unique_ptr<const zemm_primitive_desc> pd, group_sizes likely_sizes,
                      std::shared_ptr<const zemm_primitive> likely);

    std::unique_ptr<const values> read_values(ze::stream &stream, const memory_map &memories,
                                              std::span<const ze_event_handle_t> waits) const override;
    void run(ze::stream &stream, const memory_map &memories, const values *read,
             std::span<const ze_event_handle_t> waits) const override;

private:
    // Groups of at most so many rows run on a kernel of their own, if others have up to `largest` rows; 0:
    // all run on one.
    int32_t few_rows(int32_t largest) const;

    mutable recent_primitives by_sizes_;
    mutable std::mutex lock_;
    mutable std::map<int32_t, int32_t> few_by_largest_; // known results of few_rows()
};

} // namespace zemm::matmul
