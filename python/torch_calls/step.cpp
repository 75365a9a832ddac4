// SPDX-License-Identifier: Apache-2.0
#include "step.hpp"

#include <algorithm>
#include <memory>

#include "attention.hpp"

namespace zemm_torch {
namespace {

PyObject *step_in_python = nullptr;

bool is_dense(tensor_t tensor) {
    bool is = false;
    return shim.aoti_torch_is_contiguous(tensor, &is) == 0 && is;
}

// Of four dimensions. The layouts that attend() takes were known when the step was traced; they are looked at
// again, as Inductor may choose others.
struct viewed_t {
    int64_t *sizes = nullptr, *strides = nullptr;
    void *data = nullptr;
    explicit viewed_t(tensor_t tensor) {
        shim.aoti_torch_get_sizes(tensor, &sizes);
        shim.aoti_torch_get_strides(tensor, &strides);
        shim.aoti_torch_get_data_ptr(tensor, &data);
    }
};

owned_tensor attention(const tensor_t *inputs, int64_t count, double scale, const int64_t *sizes,
                       int64_t ndim, int32_t dtype) {
    const viewed_t q(inputs[0]), k(inputs[1]), v(inputs[2]);
    if (!is_dense(inputs[0]) || k.strides[3] != 1 || v.strides[3] != 1 || (count > 3 && !is_dense(inputs[3])))
        return nullptr;
    owned_tensor y = empty(ndim, sizes, sizes[ndim - 1], dtype);
    void *dst = nullptr, *mask = nullptr;
    if (!y || shim.aoti_torch_get_data_ptr(y.get(), &dst))
        return nullptr;
    attention_t a{};
    a.batch = k.sizes[0], a.heads = k.sizes[1], a.shared = q.sizes[1] / a.heads;
    a.tokens = k.sizes[2], a.width = k.sizes[3], a.scale = static_cast<float>(scale);
    std::copy_n(k.strides, 3, a.k_strides);
    std::copy_n(v.strides, 3, a.v_strides);
    if (count > 3) {
        const viewed_t given(inputs[3]);
        mask = given.data;
        a.mask_stride = given.sizes[0] > 1 ? a.tokens : 0;
    }
    const auto scratch = std::make_unique_for_overwrite<float[]>(4 * (a.tokens + 32));
    attend(a, static_cast<const float *>(q.data), static_cast<const float *>(k.data),
           static_cast<const float *>(v.data), static_cast<const uint8_t *>(mask), static_cast<float *>(dst),
           scratch.get());
    return y;
}

owned_tensor in_python(const tensor_t *inputs, int64_t count, const entry_t *table, int64_t index) {
    const python_lock lock;
    const owned_object list = checked(PyList_New(0));
    for (int64_t i = 0; i < count; ++i) {
        tensor_t input = nullptr;
        shim.aoti_torch_new_tensor_handle(inputs[i], &input);
        if (PyList_Append(list.get(), python_tensor(owned_tensor(input)).get()))
            throw python_error();
    }
    const auto address = static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(table));
    const owned_object y = checked(
        PyObject_CallFunction(step_in_python, "KLO", address, static_cast<long long>(index), list.get()));
    return tensor_of(y.get());
}

} // namespace

void set_step_in_python(PyObject *python) {
    Py_INCREF(python);
    step_in_python = python;
}

int32_t step(const tensor_t *inputs, int64_t count, const entry_t *table, int64_t index, const int64_t *sizes,
             int64_t ndim, int32_t dtype, tensor_t *y) try {
    const entry_t &entry = table[index];
    owned_tensor made;
    if (entry.kind == entry_t::linear && entry.layer)
        made =
            compute(inputs[0], {entry.layer, {}, entry.in_features, sizes[ndim - 1], 0, 0, 0}, dtype, false);
    else if (entry.kind == entry_t::attention)
        made = attention(inputs, count, entry.scale, sizes, ndim, dtype);
    *y = (made ? std::move(made) : in_python(inputs, count, table, index)).release();
    return 0;
} catch (const std::exception &) {
    return 1;
}

} // namespace zemm_torch
