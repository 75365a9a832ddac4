// SPDX-License-Identifier: Apache-2.0
#include "inner_product/primitive_desc.hpp"

#include "common/error.hpp"
#include "common/names.hpp"
#include "primitive/launch_plan.hpp"
#include "reorder/launches.hpp"

namespace zemm::inner_product {

primitive_desc::primitive_desc(zemm_engine_t e, problem p, dim_order order,
                               std::shared_ptr<const matmul::decision> matmul, bool &usable)
    : matmul::primitive_desc(e, std::move(matmul)), problem_(std::move(p)), order_(std::move(order)),
      attr_(with_transposed_masks(asked().attr)) {
    const memory_desc src = matrix_of(problem_.src, order_).copy;
    if (!md_is_zero(src))
        copies_[ZEMM_ARG_SRC] = src;
    if (!problem_.was_any.wei) {
        const memory_desc wei = matrix_of(problem_.wei, order_).copy;
        if (!md_is_zero(wei))
            copies_[ZEMM_ARG_WEIGHTS] = wei;
    }
    usable = take_from_matmul();
}

primitive_desc::layout primitive_desc::layout_of_scratchpad() const {
    layout made;
    scratch all;
    for (const auto &[arg, md] : copies_)
        made.copies[arg] = in_scratchpad(all.take(md_size(md)));
    made.matmul_at = all.take(decided->scratchpad_size);
    made.size = all.size();
    return made;
}

// Completes the descriptor after the matmul has chosen an implementation. Returns false if weights of format
// any cannot have its layout.
bool primitive_desc::take_from_matmul() {
    if (problem_.was_any.wei) {
        const auto wei = unflatten(transposed(asked().wei), problem_.wei, order_);
        if (!wei)
            return false;
        problem_.wei = *wei;
    }
    arguments.at(ZEMM_ARG_SRC).md = problem_.src;
    arguments.at(ZEMM_ARG_WEIGHTS).md = problem_.wei;
    if (!md_is_zero(problem_.bias))
        arguments.at(ZEMM_ARG_BIAS).md = problem_.bias;
    if (copies_.empty() || empty())
        return true;
    scratchpad_size = layout_of_scratchpad().size;
    scratchpad = scratchpad_md(attr_, scratchpad_size);
    if (!md_is_zero(scratchpad))
        arguments[ZEMM_ARG_SCRATCHPAD] = {.md = scratchpad, .is_scratchpad = true};
    return true;
}

std::unique_ptr<zemm_primitive_desc> primitive_desc::clone() const {
    return std::make_unique<primitive_desc>(*this);
}

bool primitive_desc::next_impl() {
    primitive_desc ahead = *this; // this one must not change if no implementation is left
    for (int steps = 1; ahead.matmul::primitive_desc::next_impl(); ++steps)
        if (ahead.take_from_matmul()) {
            while (steps-- > 0)
                matmul::primitive_desc::next_impl();
            return take_from_matmul();
        }
    return false;
}

sequence primitive_desc::launches() const {
    if (copies_.empty() || empty())
        return *decided->launches;
    const ze::device &dev = *engine->device;
    const layout places = layout_of_scratchpad();
    sequence made = decided->launches->within(places.copies, places.matmul_at);
    const std::map<int, const memory_desc *> tensors = {{ZEMM_ARG_SRC, &problem_.src},
                                                        {ZEMM_ARG_WEIGHTS, &problem_.wei}};
    for (const auto &[arg, md] : copies_)
        made.add_first(
            reorder::copy_launch(*tensors.at(arg), md, address_of(arg), places.copies.at(arg), dev));
    return made;
}

std::unique_ptr<zemm_primitive> primitive_desc::create(cache_result &found) const {
    return std::make_unique<matmul::primitive>(
        clone(), get_sequence(*this, found, [&] { return launches(); }), reorder::copy_launch);
}

void primitive_desc::query(zemm_query_t what, int index, void *result) const {
    if (what == zemm_query_prop_kind)
        *static_cast<zemm_prop_kind_t *>(result) = problem_.prop_kind;
    else
        matmul::primitive_desc::query(what, index, result);
}

namespace {

// "mb2ic3ih4iw5oc6".
std::string shape_text(const problem &p) {
    const int nd = p.src.ndims;
    std::string shape = text("mb%lldic%lld", (long long)p.src.dims[0], (long long)p.src.dims[1]);
    constexpr const char *spatial[] = {"id", "ih", "iw"};
    for (int d = 2; d < nd; ++d)
        shape += text("%s%lld", spatial[d + 3 - nd], (long long)p.src.dims[d]);
    return shape + text("oc%lld", (long long)p.wei.dims[0]);
}

} // namespace

std::string primitive_desc::log_text() const {
    const problem &p = problem_;
    return text("%s,inner_product,%s,%s,%s %s %s %s,%s,,%s", engine_kind_name(engine->kind), impl_name(),
                prop_kind_name(p.prop_kind), md_text("src", p.src, p.was_any.src).c_str(),
                md_text("wei", p.wei, p.was_any.wei).c_str(), md_text("bia", p.bias, p.was_any.bias).c_str(),
                md_text("dst", p.dst, p.was_any.dst).c_str(), attr_text(attr_).c_str(),
                shape_text(p).c_str());
}

namespace {

memory_desc row_of(const memory_desc &bias) {
    memory_desc row = bias;
    row.ndims = 2;
    row.dims[1] = row.padded_dims[1] = bias.dims[0];
    row.strides[1] = bias.strides[0];
    row.dims[0] = row.padded_dims[0] = 1;
    row.strides[0] = bias.dims[0] * bias.strides[0];
    for (int i = 0; i < row.inner_nblks; ++i)
        row.inner_idxs[i] = 1;
    return row;
}

// The matmul's descriptor. wei: N x K, or format any.
std::shared_ptr<const matmul::decision> decide(zemm_engine_t engine, const problem &p, const memory_desc &src,
                                               const memory_desc &wei, const zemm_primitive_attr *attr) {
    const bool has_bias = !md_is_zero(p.bias);
    const memory_desc bias = has_bias ? row_of(p.bias) : memory_desc();
    const auto made =
        matmul::make_primitive_desc(engine, src, transposed(wei), has_bias ? &bias : nullptr, p.dst, attr);
    return static_cast<const matmul::primitive_desc &>(*made).decided;
}

memory_desc any_matrix(const memory_desc &wei) {
    const zemm_dim_t dims[] = {wei.dims[0], md_nelems(wei) / wei.dims[0]};
    return md_with_tag(2, dims, wei.data_type, zemm_format_tag_any);
}

} // namespace

std::unique_ptr<zemm_primitive_desc> make_primitive_desc(zemm_engine_t engine, zemm_prop_kind_t prop_kind,
                                                         const memory_desc &src, const memory_desc &wei,
                                                         const memory_desc *bias, const memory_desc &dst,
                                                         const zemm_primitive_attr *attr) {
    const problem asked = make_problem(prop_kind, src, wei, bias, dst, attr);
    std::optional<zemm_primitive_attr> of_matmul;
    if (attr)
        of_matmul = with_transposed_masks(*attr);
    // wei: as matrix, or format any.
    const auto make = [&](const problem &p, const dim_order &order, const memory_desc &matrix) {
        bool usable = false;
        auto made = std::make_unique<primitive_desc>(
            engine, p, order,
            decide(engine, p, matrix_of(p.src, order).flat, matrix, of_matmul ? &*of_matmul : nullptr),
            usable);
        return usable ? std::move(made) : nullptr;
    };
    const auto in_order = [&](const dim_order &order) {
        problem p = asked;
        if (p.was_any.src)
            p.src = dense_in(order, p.src);
        return p;
    };
    const dim_order &first = asked.orders.front();
    if (!asked.was_any.wei)
        return make(in_order(first), first, matrix_of(asked.wei, first).flat);
    for (const dim_order &order : asked.orders)
        if (auto made = make(in_order(order), order, any_matrix(asked.wei)))
            return made;
    problem p = in_order(first);
    p.wei = dense_in(first, p.wei, true);
    return make(p, first, matrix_of(p.wei, first).flat);
}

} // namespace zemm::inner_product
