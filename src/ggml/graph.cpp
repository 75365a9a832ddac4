// SPDX-License-Identifier: Apache-2.0
#include "ggml/graph.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

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

// The first matrix of the weights.
matrix first_matrix(const ggml::tensor *w) {
    const format *const form = find_format(w->type);
    return {form, read_bytes(w, *form), 0, w->ne[0], w->ne[1]};
}

matrix matrix_at(const matrix &first, int64_t index) {
    matrix at = first;
    at.first = index * at.n;
    return at;
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
    const ggml::tensor *const w = node->src[0], *const src = node->src[1];
    const matrix first = first_matrix(w);
    if (is_one_product(node)) {
        const int64_t count = src->ne[1] * src->ne[2] * src->ne[3];
        c.multiply(first, {{rows_at(src, count, 0, 0), rows_at(node, count, 0, 0)}});
        return;
    }
    std::vector<std::vector<product>> of_matrix(size_t(w->ne[2] * w->ne[3]));
    for (int64_t i3 = 0; i3 < src->ne[3]; ++i3)
        for (int64_t i2 = 0; i2 < src->ne[2]; ++i2)
            of_matrix[size_t(i3 * w->ne[3] / src->ne[3] * w->ne[2] + i2 * w->ne[2] / src->ne[2])].push_back(
                {rows_at(src, src->ne[1], i2, i3), rows_at(node, src->ne[1], i2, i3)});
    for (size_t i = 0; i < of_matrix.size(); ++i)
        c.multiply(matrix_at(first, int64_t(i)), of_matrix[i]);
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
            throw wrong_graph("expert " + std::to_string(index) + " is not one of " +
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
void for_rows(quiet, const team &threads, const routing &r, int64_t used, const ggml::tensor *t,
              const F &copy) {
    threads.each(int64_t(r.order.size()), [&](int64_t row) {
        const int64_t token = r.order[size_t(row)] / used, slot = r.order[size_t(row)] % used;
        copy(row, floats_of(t, slot % t->ne[1], token, 0));
    });
}

void multiply_experts(calls &c, const ggml::tensor *node) {
    const ggml::tensor *const w = node->src[0], *const src = node->src[1], *const ids = node->src[2];
    const int64_t k = w->ne[0], n = w->ne[1], used = ids->ne[0];
    const quiet before = c.wait(); // src may be the result of a product
    const routing r = route(before, ids, w->ne[2]);
    const int64_t count = int64_t(r.order.size());
    float *const from = c.rows_of_experts(before, count * (k + n)), *const to = from + count * k;
    for_rows(before, c.threads(), r, used, src, [&](int64_t row, const float *values) {
        std::memcpy(from + row * k, values, size_t(k) * sizeof(float));
    });
    const matrix experts = first_matrix(w);
    for (int64_t expert = 0, first = 0; expert < w->ne[2]; ++expert) {
        const int64_t end = r.ends[size_t(expert)];
        if (end > first)
            c.multiply(matrix_at(experts, expert),
                       {{{from, count, k}, {to + first * n, end - first, n}, first}});
        first = end;
    }
    for_rows(c.wait(), c.threads(), r, used, node, [&](int64_t row, float *values) {
        std::memcpy(values, to + row * n, size_t(n) * sizeof(float));
    });
}

void check_memory(const ggml::tensor *tensor) {
    const ggml::buffer *const buffer = buffer_of(tensor);
    if (!tensor->data)
        throw wrong_graph(std::string(tensor->name) + " has no memory");
    if (buffer && !api.backend_buft_is_host(buffer->buft))
        throw wrong_graph(std::string(tensor->name) + " is in a buffer of " +
                          buffer->buft->get_name(buffer->buft) + ", which zemm cannot read");
}

} // namespace

bool is_product(const ggml::tensor *node) {
    return node->op == mul_mat() || node->op == mul_mat_id();
}

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

bool has_experts(const ggml::tensor *node) {
    return node->op == mul_mat_id();
}

int64_t rows_of_a_matrix(const ggml::tensor *node) {
    const ggml::tensor *const w = node->src[0];
    return node->ne[1] * node->ne[2] * node->ne[3] / std::max<int64_t>(1, w->ne[2] * w->ne[3]);
}

bool is_view(const ggml::tensor *node) {
    const std::string_view name = api.op_name(node->op);
    return name == "NONE" || name == "RESHAPE" || name == "VIEW" || name == "PERMUTE" || name == "TRANSPOSE";
}

void multiply(calls &c, const ggml::tensor *node) {
    if (is_empty(node))
        return;
    if (!is_supported(node))
        throw wrong_graph(std::string("zemm does not compute this ") + api.op_name(node->op));
    for (const ggml::tensor *const t : {static_cast<const ggml::tensor *>(node->src[1]),
                                        static_cast<const ggml::tensor *>(node->src[2]), node})
        if (t)
            check_memory(t);
    if (!is_readable(node->src[0], *find_format(node->src[0]->type)))
        throw wrong_graph(std::string("zemm cannot read ") + node->src[0]->name);
    if (has_experts(node))
        multiply_experts(c, node);
    else
        multiply_matrices(c, node);
}

} // namespace zemm_ggml
