// SPDX-License-Identifier: Apache-2.0
#include "matmul/plan/steps.hpp"

#include <algorithm>

#include "common/error.hpp"
#include "matmul/plan/finish.hpp"
#include "matmul/plan/plan.hpp"
#include "matmul/problem/sparse.hpp"
#include "primitive/primitive_desc.hpp"

namespace zemm::matmul {

namespace {

bool is_blocked(const memory_desc &md) {
    return md.ndims != 0 && md.format_kind == zemm_blocked && md.inner_nblks != 0;
}

// Kernels read tensors of post-ops without blocks, and no f64.
bool is_converted(const post_op &op) {
    return is_blocked(op.src1) || op.src1.data_type == zemm_f64 || is_blocked(op.src2);
}

bool has_float_src_zero_points(const problem &p) {
    return !p.integer() && p.zero_point(ZEMM_ARG_SRC);
}

class maker {
public:
    maker(const problem &p, const ze::device &dev) : p_(p), dev_(dev) {}

    steps make() {
        made_.inner = p_;
        made_.inner.attr.scratchpad_mode = zemm_scratchpad_mode_user; // a part of this one's
        make_src_plain();
        if (is_f64(p_)) { // rows of kernels.def choose the layout, and read blocks, themselves
            md_resolve_any(made_.inner.wei);
            if (is_blocked(p_.wei))
                made_.inner.wei = convert(ZEMM_ARG_WEIGHTS, p_.wei);
        }
        if (is_blocked(p_.bias))
            made_.inner.bias = convert(ZEMM_ARG_BIAS, p_.bias);
        if (is_sparse(p_.wei))
            made_.inner.wei = make_dense(ZEMM_ARG_WEIGHTS, p_.wei);
        make_post_ops_plain();
        make_dst_plain();
        if (needs_finish(p_))
            finish_apart();
        if (is_f64(p_))
            made_.multiply_f64 = plan_f64(made_.inner, dev_);
        made_.inner_scratchpad_at = take(0);
        return std::move(made_);
    }

private:
    size_t take(size_t bytes) {
        const size_t at = size_t(up(zemm_dim_t(used_), scratchpad_alignment));
        used_ = at + bytes;
        return at;
    }

    reorder::plan plan_move(const reorder::problem &move, int arg) {
        reorder::plan plan;
        std::string why;
        const bool is_from_f64 = move.src.data_type == zemm_f64 && move.dst.data_type != zemm_f64;
        if (!(is_from_f64 ? reorder::plan_f64 : reorder::plan_any)(move, dev_, plan, why))
            fail(zemm_unimplemented, "%s cannot be converted from %s: %s", argument_name(arg).c_str(),
                 md_sentence(move.src).c_str(), why.c_str());
        return plan;
    }

    const memory_desc &convert(int arg, const memory_desc &md) { return convert(arg, md, md.data_type); }

    const memory_desc &convert(int arg, const memory_desc &md, zemm_data_type_t to) {
        reorder::problem move;
        move.src = md;
        move.dst = md_row_major(md, to);
        made_.before.push_back({arg, move.dst, plan_move(move, arg), take(md_size(move.dst))});
        return made_.before.back().plain;
    }

    const memory_desc &make_dense(int arg, const memory_desc &md) {
        const memory_desc dense = reorder::dense_md(md);
        made_.before.push_back({arg, dense, reorder::plan_densify(md), take(md_size(dense))});
        return made_.before.back().plain;
    }

    // Zero points are subtracted on the way, which gives f32.
    void make_src_plain() {
        if (!has_float_src_zero_points(p_)) {
            if (is_blocked(p_.src))
                made_.inner.src = convert(ZEMM_ARG_SRC, p_.src);
            if (is_sparse(p_.src))
                made_.inner.src = make_dense(ZEMM_ARG_SRC, p_.src);
            return;
        }
        reorder::problem move;
        move.src = is_sparse(p_.src) ? make_dense(ZEMM_ARG_SRC, p_.src) : p_.src;
        move.dst = md_row_major(p_.src, zemm_f32);
        move.attr.zero_points[ZEMM_ARG_SRC] = *p_.zero_point(ZEMM_ARG_SRC);
        made_.before.push_back(
            {ZEMM_ARG_SRC, move.dst, plan_move(move, ZEMM_ARG_SRC), take(md_size(move.dst))});
        made_.inner.src = move.dst;
        made_.inner.attr.zero_points.erase(ZEMM_ARG_SRC);
        made_.inner.attr.fpmath_mode = zemm_fpmath_mode_strict;
    }

    void make_post_ops_plain() {
        int index = 0;
        for (post_op &op : made_.inner.attr.post_ops.entries) {
            const int base = ZEMM_ARG_ATTR_MULTIPLE_POST_OP(index++);
            if (op.src1.data_type == zemm_f64)
                op.src1 = convert(base | ZEMM_ARG_SRC_1, op.src1, zemm_f32);
            else if (is_blocked(op.src1))
                op.src1 = convert(base | ZEMM_ARG_SRC_1, op.src1);
            if (is_blocked(op.src2))
                op.src2 = convert(base | ZEMM_ARG_SRC_2, op.src2);
        }
    }

    void make_dst_plain() {
        if (!is_blocked(p_.dst))
            return;
        const auto is_sum = [](const post_op &op) { return op.kind == zemm_sum; };
        reorder::problem move;
        move.src = md_row_major(p_.dst, p_.dst.data_type);
        move.dst = p_.dst;
        made_.inner.dst = move.src;
        made_.after = plan_move(move, ZEMM_ARG_DST);
        if (std::ranges::any_of(p_.attr.post_ops.entries, is_sum)) { // it reads dst
            convert(ZEMM_ARG_DST, p_.dst);
            made_.dst_at = made_.before.back().at;
        } else {
            made_.dst_at = take(md_size(move.src));
        }
    }

    // What comes after the sums leaves the matmul in the middle, which writes the sums.
    void finish_apart() {
        problem &inner = made_.inner;
        made_.finish = plan_finish(inner, p_.dst, is_f64(p_));
        inner.dst = md_row_major(inner.dst, is_f64(p_) ? zemm_f64 : zemm_f32);
        made_.sums_at = take(md_size(inner.dst));
        if (!is_f64(p_))
            inner.bias = {};
        inner.attr.has_dropout = false;
        inner.attr.post_ops = {};
        inner.attr.scales.erase(ZEMM_ARG_DST);
        inner.attr.zero_points.erase(ZEMM_ARG_DST);
        inner.attr.rounding.clear();
    }

    const problem &p_;
    const ze::device &dev_;
    steps made_ = {};
    size_t used_ = 0;
};

} // namespace

bool needs_steps(const problem &p) {
    return is_f64(p) || needs_finish(p) || has_float_src_zero_points(p) || is_blocked(p.src) ||
           is_sparse(p.src) || is_sparse(p.wei) || is_blocked(p.dst) || is_blocked(p.bias) ||
           std::ranges::any_of(p.attr.post_ops.entries, is_converted);
}

const converted_tensor *steps::find(int arg) const {
    const auto found = std::ranges::find(before, arg, &converted_tensor::arg);
    return found == before.end() ? nullptr : &*found;
}

steps make_steps(const problem &p, const ze::device &dev) {
    return maker(p, dev).make();
}

} // namespace zemm::matmul
