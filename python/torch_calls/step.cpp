// SPDX-License-Identifier: Apache-2.0
#include "step.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace zemm_torch {
namespace {

PyObject *step_in_python = nullptr;

bool is_dense(tensor_t tensor) {
    bool is = false;
    return shim.aoti_torch_is_contiguous(tensor, &is) == 0 && is;
}

// Of four dimensions.
struct viewed_t {
    int64_t *sizes = nullptr, *strides = nullptr;
    void *data = nullptr;
    explicit viewed_t(tensor_t tensor) {
        shim.aoti_torch_get_sizes(tensor, &sizes);
        shim.aoti_torch_get_strides(tensor, &strides);
        shim.aoti_torch_get_data_ptr(tensor, &data);
    }
};

// Of q, k, v and perhaps a mask.
owned_tensor attention(const tensor_t *inputs, int64_t count, const entry_t &entry, const int64_t *sizes,
                       int64_t ndim, int32_t dtype) {
    const viewed_t q(inputs[0]), k(inputs[1]), v(inputs[2]);
    std::array<int64_t, std::size(entry_t{}.layout)> layout;
    std::copy_n(v.strides, 4, std::copy_n(k.strides, 4, std::copy_n(k.sizes, 3, layout.begin())));
    if (!std::equal(layout.begin(), layout.end(), entry.layout) || !is_dense(inputs[0]) ||
        (count > 3 && !is_dense(inputs[3])))
        return nullptr;
    owned_tensor y = empty(ndim, sizes, sizes[ndim - 1], dtype);
    void *dst = nullptr, *mask = nullptr;
    if (!y || shim.aoti_torch_get_data_ptr(y.get(), &dst) ||
        (count > 3 && shim.aoti_torch_get_data_ptr(inputs[3], &mask)))
        return nullptr;
    const outcome got = run({entry.layer, {}, 0, 0, 0, dtype, dtype}, {q.data, dst, k.data, v.data, mask});
    if (got == outcome::failed)
        y.release(); // work may still write to it
    return got == outcome::done ? std::move(y) : nullptr;
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
    else if (entry.kind == entry_t::attention && entry.layer)
        made = attention(inputs, count, entry, sizes, ndim, dtype);
    *y = (made ? std::move(made) : in_python(inputs, count, table, index)).release();
    return 0;
} catch (const std::exception &) {
    return 1;
}

} // namespace zemm_torch
