// SPDX-License-Identifier: Apache-2.0
#include "ggml/graph.hpp"

#include <cstring>
#include <string>
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

const uint8_t *bytes_of(const ggml::tensor *t, int64_t i2, int64_t i3) {
    return static_cast<const uint8_t *>(t->data) + size_t(i2) * t->nb[2] + size_t(i3) * t->nb[3];
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
           (t->ne[1] == 1 || t->nb[1] >= size_t(t->ne[0]) * sizeof(float));
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

// Whether the node before has quantised all rows of the same src.
bool has_same_src(const ggml::tensor *node, const ggml::tensor *previous) {
    return previous && previous->op == node->op && previous->src[1] == node->src[1] &&
           is_one_product(previous);
}

// Weights broadcast over the last two dimensions of src.
void multiply_matrices(calls &c, const ggml::tensor *node, const ggml::tensor *previous) {
    const ggml::tensor *const w = node->src[0], *const src = node->src[1];
    const shape of{find_format(w->type), 0, w->ne[0], w->ne[1]};
    if (is_one_product(node)) {
        const int64_t count = src->ne[1] * src->ne[2] * src->ne[3];
        const auto packed = packed_weights(w, of, bytes_of(w, 0, 0));
        c.multiply(*packed, rows_at(src, count, 0, 0), rows_at(node, count, 0, 0),
                   has_same_src(node, previous));
        return;
    }
    for (int64_t i3 = 0; i3 < src->ne[3]; ++i3)
        for (int64_t i2 = 0; i2 < src->ne[2]; ++i2) {
            const uint8_t *const data = bytes_of(w, i2 * w->ne[2] / src->ne[2], i3 * w->ne[3] / src->ne[3]);
            const auto packed = packed_weights(w, of, data);
            c.multiply(*packed, rows_at(src, src->ne[1], i2, i3), rows_at(node, src->ne[1], i2, i3), false);
        }
}

// A row of src for each token and expert, in the order of the experts.
struct routing {
    std::vector<int32_t> ends;  // for each expert, where its rows end
    std::vector<int64_t> order; // token * experts of a token + which of these, by row
};

routing route(const ggml::tensor *ids, int64_t experts) {
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

void multiply_experts(calls &c, const ggml::tensor *node) {
    const ggml::tensor *const w = node->src[0], *const src = node->src[1], *const ids = node->src[2];
    const shape of{find_format(w->type), w->ne[2], w->ne[0], w->ne[1]};
    const routing r = route(ids, w->ne[2]);
    const int64_t count = int64_t(r.order.size()), used = ids->ne[0];
    float *const from = c.rows_of_experts(count * (of.k + of.n)), *const to = from + count * of.k;
    for (int64_t row = 0; row < count; ++row) {
        const int64_t token = r.order[size_t(row)] / used, slot = r.order[size_t(row)] % used;
        std::memcpy(from + row * of.k, floats_of(src, slot % src->ne[1], token, 0),
                    size_t(of.k) * sizeof(float));
    }
    const auto packed = packed_weights(w, of, bytes_of(w, 0, 0));
    c.multiply_groups(*packed, {from, count, of.k}, {to, count, of.n}, r.ends.data());
    c.wait();
    for (int64_t row = 0; row < count; ++row) {
        const int64_t token = r.order[size_t(row)] / used, slot = r.order[size_t(row)] % used;
        std::memcpy(floats_of(node, slot, token, 0), to + row * of.n, size_t(of.n) * sizeof(float));
    }
}

} // namespace

bool is_supported(const ggml::tensor *node) {
    if (node->op != mul_mat() && node->op != mul_mat_id())
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
    const std::string name = api.op_name(node->op);
    return name == "NONE" || name == "RESHAPE" || name == "VIEW" || name == "PERMUTE" || name == "TRANSPOSE";
}

void multiply(calls &c, const ggml::tensor *node, const ggml::tensor *previous) {
    if (is_empty(node) || is_empty(node->src[1]))
        return;
    if (node->op == mul_mat_id())
        multiply_experts(c, node);
    else
        multiply_matrices(c, node, previous);
}

} // namespace zemm_ggml
