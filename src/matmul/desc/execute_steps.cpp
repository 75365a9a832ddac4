// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <utility>

#include "common/error.hpp"
#include "matmul/desc/compiled_steps.hpp"
#include "matmul/plan/arguments.hpp"
#include "matmul/plan/finish.hpp"
#include "matmul/problem/sparse.hpp"

namespace zemm::matmul {

namespace {

// One execution. Each member function appends the launches of a step.
class execution {
public:
    execution(const steps_desc &pd, const compiled_steps &compiled, ze::stream &stream,
              const bound_arguments &bound, std::span<const ze_event_handle_t> waits)
        : pd_(pd), steps_(pd.steps), compiled_(compiled), stream_(stream), bound_(bound), waits_(waits) {
        if (pd.scratchpad_size != 0)
            scratchpad_ = md_is_zero(pd.scratchpad)
                              ? static_cast<char *>(stream.scratchpad(pd.scratchpad_size))
                              : aligned_scratchpad(bound.pointer(ZEMM_ARG_SCRATCHPAD));
    }

    void convert_tensors() {
        for (size_t i = 0; i < steps_.before.size(); ++i) {
            const converted_tensor &t = steps_.before[i];
            const helper &h = compiled_.before[i];
            char *to = scratchpad_ + t.at;
            const bool is_dense = !is_sparse(pd_.arguments.at(t.arg).md) || replaced_.contains(t.arg);
            if (is_dense)
                move(h, pointer(t.arg), to, t.arg == ZEMM_ARG_SRC);
            else
                reorder::densify(stream_, h, *bound_.find(t.arg), to, std::exchange(waits_, {}));
            replaced_[t.arg] = to;
        }
        if (steps_.after)
            replaced_[ZEMM_ARG_DST] = scratchpad_ + steps_.dst_at;
    }

    void multiply_f64() {
        const void *src = pointer(ZEMM_ARG_SRC), *wei = pointer(ZEMM_ARG_WEIGHTS), *dst = sums();
        const void *block = compiled_.multiply_f64.block->data();
        const kernels::matmul_arguments values = values_of_problem();
        const ze::kernel_argument args[] = {{sizeof(void *), &src},
                                            {sizeof(void *), &wei},
                                            {sizeof(void *), &dst},
                                            {sizeof(void *), &block},
                                            {sizeof(values), &values}};
        launch(compiled_.multiply_f64, args);
    }

    void multiply(const static_primitive &inner) {
        std::map<int, void *> replaced = replaced_;
        replaced[ZEMM_ARG_SCRATCHPAD] = scratchpad_ + steps_.inner_scratchpad_at;
        if (steps_.finish)
            replaced[ZEMM_ARG_DST] = sums();
        std::map<int, zemm_memory> own;
        std::map<int, zemm_memory_t> given;
        for (const auto &[arg, argument] : inner.pd->arguments) {
            const auto found = replaced.find(arg);
            if (found == replaced.end()) {
                given[arg] = bound_.memories.at(arg);
                continue;
            }
            zemm_memory &memory = own[arg];
            memory.md = argument.md;
            memory.parts.emplace_back().handle = found->second;
            given[arg] = &memory;
        }
        inner.run(stream_, given, nullptr, waits_);
        waits_ = {};
    }

    void finish() {
        const void *from = sums(), *dst = pointer(ZEMM_ARG_DST), *block = compiled_.finish.block->data();
        const kernels::matmul_arguments values = values_of_problem();
        const kernels::finish_arguments more = finish_values(bound_);
        const ze::kernel_argument args[] = {{sizeof(void *), &from},
                                            {sizeof(void *), &dst},
                                            {sizeof(void *), &block},
                                            {sizeof(values), &values},
                                            {sizeof(more), &more}};
        launch(compiled_.finish, args);
    }

    void give_dst_its_layout() {
        move(compiled_.after, pointer(ZEMM_ARG_DST), bound_.pointer(ZEMM_ARG_DST), false);
    }

private:
    void launch(const helper &h, std::span<const ze::kernel_argument> arguments) {
        reorder::launch(stream_, h, arguments, std::exchange(waits_, {}));
    }

    // is_src: with the zero points of src, if it has any.
    void move(const helper &h, const void *from, const void *to, bool is_src) {
        kernels::reorder_arguments values = {};
        if (is_src) {
            values.src_zp = bound_.address(ZEMM_ARG_ATTR_ZERO_POINTS | ZEMM_ARG_SRC);
            values.host_src_zp = bound_.zero_point(ZEMM_ARG_SRC);
        }
        const void *block = h.block->data();
        const ze::kernel_argument args[] = {{sizeof(void *), &from},
                                            {sizeof(void *), &to},
                                            {sizeof(void *), &block},
                                            {sizeof(values), &values}};
        launch(h, args);
    }

    // The data of an argument, or of the plain tensor in its place.
    void *pointer(int arg) const {
        const auto found = replaced_.find(arg);
        return found == replaced_.end() ? bound_.pointer(arg) : found->second;
    }
    uint64_t address(int arg) const { return reinterpret_cast<uint64_t>(pointer(arg)); }
    void *sums() const { return steps_.finish ? scratchpad_ + steps_.sums_at : pointer(ZEMM_ARG_DST); }

    kernels::matmul_arguments values_of_problem() const {
        kernels::matmul_arguments values = arguments_by_value(bound_, pd_.problem);
        values.bias = address(ZEMM_ARG_BIAS);
        for (size_t i = 0; i < pd_.problem.attr.post_ops.entries.size(); ++i) {
            const int base = ZEMM_ARG_ATTR_MULTIPLE_POST_OP(int(i));
            if (steps_.find(base | ZEMM_ARG_SRC_1))
                values.post_op_src1[i] = address(base | ZEMM_ARG_SRC_1);
            if (steps_.find(base | ZEMM_ARG_SRC_2))
                values.post_op_src2[i] = address(base | ZEMM_ARG_SRC_2);
        }
        return values;
    }

    const steps_desc &pd_;
    const steps &steps_;
    const compiled_steps &compiled_;
    ze::stream &stream_;
    const bound_arguments &bound_;
    std::span<const ze_event_handle_t> waits_; // of the first launch
    char *scratchpad_ = nullptr;
    std::map<int, void *> replaced_; // plain tensors in the scratchpad, by argument
};

} // namespace

// Checks indices of sparse tensors, and the probability of dropout if the host can read it. Earlier work may
// write them, so that has to be done first. (Where the host cannot read the probability, the kernel takes
// the nearest value that is one.)
std::unique_ptr<const static_primitive::values>
steps_primitive::read_values(ze::stream &stream, const std::map<int, zemm_memory_t> &memories,
                             std::span<const ze_event_handle_t> waits) const {
    const bound_arguments bound{memories, pd->arguments};
    const auto finish_earlier_work = [&] {
        stream.wait_for(waits);
        stream.wait();
    };
    for (int arg : {ZEMM_ARG_SRC, ZEMM_ARG_WEIGHTS})
        if (is_sparse(pd->arguments.at(arg).md)) {
            finish_earlier_work();
            reorder::check_contents(tensor_name(arg), *bound.find(arg));
        }
    const void *value = bound.host_value(ZEMM_ARG_ATTR_DROPOUT_PROBABILITY);
    if (!value && pd->engine->device->host_pointers) {
        value = bound.pointer(ZEMM_ARG_ATTR_DROPOUT_PROBABILITY);
        if (value)
            finish_earlier_work();
    }
    if (!value)
        return nullptr;
    float probability;
    std::memcpy(&probability, value, sizeof probability);
    if (!(probability >= 0.f && probability <= 1.f))
        fail(zemm_invalid_arguments, "dropout: the probability is %g, it must be from 0 to 1",
             double(probability));
    return nullptr;
}

void steps_primitive::run(ze::stream &stream, const std::map<int, zemm_memory_t> &memories, const values *,
                          std::span<const ze_event_handle_t> waits) const {
    const auto &pd = static_cast<const steps_desc &>(*this->pd);
    const bound_arguments bound{memories, pd.arguments};
    stream.keep(compiled_);
    execution e(pd, *compiled_, stream, bound, waits);
    e.convert_tensors();
    if (inner_)
        e.multiply(static_cast<const static_primitive &>(*inner_));
    else
        e.multiply_f64();
    if (pd.steps.finish)
        e.finish();
    if (pd.steps.after)
        e.give_dst_its_layout();
}

} // namespace zemm::matmul
