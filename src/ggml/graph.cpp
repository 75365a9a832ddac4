// SPDX-License-Identifier: Apache-2.0
#include "ggml/graph.hpp"

#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "ggml/buffer.hpp"
#include "ggml/functions.hpp"

namespace zemm_ggml {

namespace {

int mul_mat() {
    static const int op = operation("MUL_MAT");
    return op;
}

int mul_mat_id() {
    static const int op = operation("MUL_MAT_ID");
    return op;
}

// The type of a matrix of weights, or of all as experts.
shape shape_of(const ggml::tensor *w, int64_t experts) {
    return {find_format(w->type), experts, w->ne[0], w->ne[1]};
}

float *floats_of(const ggml::tensor *t, int64_t i1, int64_t i2, int64_t i3) {
    return reinterpret_cast<float *>(static_cast<char *>(t->data) + size_t(i1) * t->nb[1] +
                                     size_t(i2) * t->nb[2] + size_t(i3) * t->nb[3]);
}

// Whether the blocks of weights follow each other.
bool is_dense(const ggml::tensor *t, const format &f) {
    return t->ne[0] % f.elements == 0 && t->nb[0] == size_t(f.bytes) &&
           t->nb[1] == size_t(t->ne[0] / f.elements * f.bytes) && t->nb[2] == t->nb[1] * size_t(t->ne[1]) &&
           t->nb[3] == t->nb[2] * size_t(t->ne[2]);
}

// Whether the rows are contiguous and lie apart.
bool has_rows(const ggml::tensor *t) {
    return t->type == ggml::type_f32 && t->nb[0] == sizeof(float) &&
           (t->ne[1] == 1 || t->nb[1] >= size_t(t->ne[0]) * sizeof(float)) &&
           (t->nb[1] | t->nb[2] | t->nb[3] | t->view_offs) % sizeof(float) == 0;
}

bool is_empty(const ggml::tensor *t) {
    return t->ne[0] == 0 || t->ne[1] == 0 || t->ne[2] == 0 || t->ne[3] == 0;
}

// Whether dimension 1 and those after it are as one.
bool is_one_matrix(const ggml::tensor *t) {
    return t->nb[1] >= size_t(t->ne[0]) * sizeof(float) &&
           (t->ne[2] == 1 || t->nb[2] == t->nb[1] * size_t(t->ne[1])) &&
           (t->ne[3] == 1 || t->nb[3] == t->nb[2] * size_t(t->ne[2]));
}

rows rows_at(const ggml::tensor *t, int64_t count, int64_t i2, int64_t i3) {
    return {floats_of(t, 0, i2, i3), count, count == 1 ? t->ne[0] : zemm_dim_t(t->nb[1] / sizeof(float))};
}

// Whether all rows of a MUL_MAT are multiplied by one matrix at once.
bool is_one_product(const ggml::tensor *node) {
    const ggml::tensor *const w = node->src[0];
    return w->ne[2] == 1 && w->ne[3] == 1 && is_one_matrix(node->src[1]) && is_one_matrix(node);
}

// Weights broadcast over the last two dimensions of src.
void multiply_matrices(calls &c, const ggml::tensor *node) {
    ggml::tensor *const w = node->src[0];
    const ggml::tensor *const src = node->src[1];
    const shape of = shape_of(w, 0);
    if (is_one_product(node)) {
        const int64_t count = src->ne[1] * src->ne[2] * src->ne[3];
        const auto packed = packed_weights(c, w, of, 0);
        c.multiply(*packed, rows_at(src, count, 0, 0), rows_at(node, count, 0, 0));
        return;
    }
    std::shared_ptr<const weights> packed;
    size_t last = 0;
    for (int64_t i3 = 0; i3 < src->ne[3]; ++i3)
        for (int64_t i2 = 0; i2 < src->ne[2]; ++i2) {
            const size_t at =
                size_t(i2 * w->ne[2] / src->ne[2]) * w->nb[2] + size_t(i3 * w->ne[3] / src->ne[3]) * w->nb[3];
            if (!packed || at != last)
                packed = packed_weights(c, w, of, at);
            last = at;
            c.multiply(*packed, rows_at(src, src->ne[1], i2, i3), rows_at(node, src->ne[1], i2, i3));
        }
}

// A row of src for each token and expert, in the order of the experts.
struct routing {
    std::vector<int32_t> ends;  // for each expert, where its rows end
    std::vector<int64_t> order; // token * experts of a token + which of these, by row
};

routing route(quiet, const ggml::tensor *ids, int64_t experts) {
    const auto expert = [&](int64_t slot, int64_t token) {
        int32_t index;
        std::memcpy(&index,
                    static_cast<const char *>(ids->data) + size_t(slot) * ids->nb[0] +
                        size_t(token) * ids->nb[1],
                    sizeof index);
        if (index < 0 || index >= experts)
            throw std::runtime_error("expert " + std::to_string(index) + " is not one of " +
                                     std::to_string(experts));
        return index;
    };
    routing r{std::vector<int32_t>(size_t(experts)), std::vector<int64_t>(size_t(ids->ne[0] * ids->ne[1]))};
    std::vector<int32_t> begins(size_t(experts) + 1);
    for (int64_t token = 0; token < ids->ne[1]; ++token)
        for (int64_t slot = 0; slot < ids->ne[0]; ++slot)
            ++begins[size_t(expert(slot, token)) + 1];
    for (size_t e = 0; e < size_t(experts); ++e)
        r.ends[e] = begins[e + 1] += begins[e];
    for (int64_t token = 0; token < ids->ne[1]; ++token)
        for (int64_t slot = 0; slot < ids->ne[0]; ++slot)
            r.order[size_t(begins[size_t(expert(slot, token))]++)] = token * ids->ne[0] + slot;
    return r;
}

// Calls copy(row of the sorted ones, row of the tensor) for all.
template <typename F>
void for_rows(quiet, const routing &r, int64_t used, const ggml::tensor *t, const F &copy) {
    for (int64_t row = 0; row < int64_t(r.order.size()); ++row) {
        const int64_t token = r.order[size_t(row)] / used, slot = r.order[size_t(row)] % used;
        copy(row, floats_of(t, slot % t->ne[1], token, 0));
    }
}

void multiply_experts(calls &c, const ggml::tensor *node) {
    ggml::tensor *const w = node->src[0];
    const ggml::tensor *const src = node->src[1], *const ids = node->src[2];
    const shape of = shape_of(w, w->ne[2]);
    const auto packed = packed_weights(c, w, of, 0);
    const quiet before = c.wait(); // src may be the result of a product
    const routing r = route(before, ids, w->ne[2]);
    const int64_t count = int64_t(r.order.size()), used = ids->ne[0];
    float *const from = c.rows_of_experts(before, count * (of.k + of.n)), *const to = from + count * of.k;
    for_rows(before, r, used, src, [&](int64_t row, const float *values) {
        std::memcpy(from + row * of.k, values, size_t(of.k) * sizeof(float));
    });
    c.multiply_groups(*packed, {from, count, of.k}, {to, count, of.n}, r.ends.data());
    for_rows(c.wait(), r, used, node, [&](int64_t row, float *values) {
        std::memcpy(values, to + row * of.n, size_t(of.n) * sizeof(float));
    });
}

bool is_product(const ggml::tensor *node) {
    return node->op == mul_mat() || node->op == mul_mat_id();
}

// Whether ggml's CPU device can compute the product by repacked weights.
bool serves(const ggml::tensor *w, const ggml::tensor *node) {
    return is_product(node) && w == node->src[0] && !w->view_src &&
           api.backend_dev_supports_op(api.backend_dev_by_type(ggml::device_cpu), node);
}

void unpack_unless_it_serves(ggml::tensor *used, const ggml::tensor *node) {
    if (used && is_repacked(used) && !serves(used, node))
        unpack(used->view_src ? used->view_src : used);
}

} // namespace

bool is_supported(const ggml::tensor *node) {
    if (!is_product(node))
        return false;
    const ggml::tensor *const w = node->src[0], *const src = node->src[1];
    const format *const form = find_format(w->type);
    if (!form || !is_dense(w, *form) || !has_rows(src) || !has_rows(node) || is_empty(w))
        return false;
    if (node->op == mul_mat())
        return true;
    return w->ne[3] == 1 && src->ne[3] == 1 && node->src[2]->type == ggml::type_i32;
}

int64_t rows_of(const ggml::tensor *node) {
    return node->ne[1] * node->ne[2] * node->ne[3];
}

bool is_view(const ggml::tensor *node) {
    const std::string_view name = api.op_name(node->op);
    return name == "NONE" || name == "RESHAPE" || name == "VIEW" || name == "PERMUTE" || name == "TRANSPOSE";
}

void unpack_what_others_use(const ggml::tensor *node) {
    for (ggml::tensor *const used : node->src)
        unpack_unless_it_serves(used, node);
    unpack_unless_it_serves(node->view_src, node);
}

void multiply(calls &c, const ggml::tensor *node) {
    if (is_empty(node))
        return;
    if (!is_supported(node))
        throw std::runtime_error(std::string("zemm does not compute this ") + api.op_name(node->op));
    for (const ggml::tensor *const t : {static_cast<const ggml::tensor *>(node->src[1]),
                                        static_cast<const ggml::tensor *>(node->src[2]), node})
        if (t)
            check_memory(t);
    if (node->op == mul_mat_id())
        multiply_experts(c, node);
    else
        multiply_matrices(c, node);
}

} // namespace zemm_ggml
