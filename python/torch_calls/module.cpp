// SPDX-License-Identifier: Apache-2.0
// torch.ops.zemm.linear for tensors on the host, without Python where this thread knows the layer's call.
// Everything else goes to the operator in Python.
#define PY_SSIZE_T_CLEAN
#include "step.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <vector>

namespace zemm_torch {
namespace {

// Objects of Python that register() gets.
struct {
    PyObject *linear; // the operator in Python, below autograd
    PyObject *linear_of_autograd;
    PyObject *tensor_of;      // a tensor of a capsule with its handle
    PyObject *handle_of;      // the reverse
    PyObject *forward_ad;     // the module's dict
    PyObject *tensor_type;    // torch.Tensor
    PyObject *included_keys;  // a function: the keys that the dispatcher adds for this thread
    PyObject *plain_included; // a tuple: those of a thread in which nobody looks for operators
    PyObject *keys_of;        // a function: the keys of a tensor
    PyObject *plain_keys;     // a tuple: those of tensors with bytes on the host
    PyObject *watchers;       // a tuple of functions: whether somebody looks for functions or operators
} python;

PyObject *current_level, *requires_grad; // names

} // namespace

// The function takes the tensor, if any, but not the handle.
owned_object python_tensor(owned_tensor tensor) {
    const owned_object capsule = checked(PyCapsule_New(tensor.get(), nullptr, nullptr));
    return checked(PyObject_CallFunctionObjArgs(python.tensor_of, capsule.get(), nullptr));
}

owned_tensor tensor_of(PyObject *object) {
    const owned_object capsule = checked(PyObject_CallFunctionObjArgs(python.handle_of, object, nullptr));
    void *const handle = PyCapsule_GetPointer(capsule.get(), PyCapsule_GetName(capsule.get()));
    if (!handle)
        throw python_error();
    return owned_tensor(static_cast<tensor_t>(handle));
}

owned_tensor empty(int64_t ndim, const int64_t *sizes, int64_t columns, int32_t dtype) {
    std::array<int64_t, 64> shape, strides; // more dimensions than torch has
    std::copy(sizes, sizes + ndim, shape.begin());
    shape[ndim - 1] = columns;
    for (int64_t i = ndim, stride = 1; i-- > 0; stride *= shape[i])
        strides[i] = stride;
    tensor_t made = nullptr;
    shim.aoti_torch_empty_strided(ndim, shape.data(), strides.data(), dtype,
                                  shim.aoti_torch_device_type_cpu(), 0, &made);
    return owned_tensor(made);
}

owned_tensor compute(tensor_t x, request_t request, int32_t dst_dtype, bool is_locked) {
    int64_t ndim = 0, *sizes = nullptr;
    bool is_dense = false;
    void *src = nullptr, *dst = nullptr;
    shim.aoti_torch_get_dtype(x, &request.src_dtype);
    shim.aoti_torch_get_dim(x, &ndim);
    shim.aoti_torch_get_sizes(x, &sizes);
    shim.aoti_torch_is_contiguous(x, &is_dense);
    if (!is_dense || ndim < 1 || ndim > 64 || sizes[ndim - 1] != request.in_features)
        return nullptr;
    request.rows = 1;
    for (int64_t i = 0; i < ndim - 1; ++i)
        request.rows *= sizes[i];
    request.dst_dtype = dst_dtype < 0 ? request.src_dtype : dst_dtype;
    if (request.rows < 1 || request.out_features < 1)
        return nullptr;
    owned_tensor y = empty(ndim, sizes, request.out_features, request.dst_dtype);
    if (!y || shim.aoti_torch_get_data_ptr(x, &src) || shim.aoti_torch_get_data_ptr(y.get(), &dst))
        return nullptr;
    PyThreadState *const state = is_locked ? PyEval_SaveThread() : nullptr;
    const outcome got = run(request, {src, dst});
    if (state)
        PyEval_RestoreThread(state);
    if (got == outcome::failed)
        y.release(); // work may still write to it
    return got == outcome::done ? std::move(y) : nullptr;
}

namespace {

// Whether forward-mode differentiation goes on. Python's lock is held.
bool has_tangents() {
    PyObject *const level = PyDict_GetItemWithError(python.forward_ad, current_level);
    return !level || PyLong_AsLong(level) >= 0;
}

bool is_among(const owned_object &object, PyObject *choices) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(choices); ++i)
        if (PyObject_RichCompareBool(object.get(), PyTuple_GetItem(choices, i), Py_EQ) == 1)
            return true;
    return false;
}

// Whether the dispatcher would do nothing with an operator on x but run it: there are no derivatives, and no
// transform, mode or subclass of tensors looks for it. Python's lock is held.
bool is_plain(PyObject *x) {
    return reinterpret_cast<PyObject *>(Py_TYPE(x)) == python.tensor_type && !has_tangents() &&
           (!shim.aoti_torch_grad_mode_is_enabled() ||
            checked(PyObject_GetAttr(x, requires_grad)).get() == Py_False) &&
           is_among(checked(PyObject_CallFunctionObjArgs(python.included_keys, nullptr)),
                    python.plain_included);
}

// Whether somebody looks for functions, or for all operators.
bool is_watched() {
    for (Py_ssize_t i = 0; i < PyTuple_Size(python.watchers); ++i)
        if (checked(PyObject_CallFunctionObjArgs(PyTuple_GetItem(python.watchers, i), nullptr)).get() !=
            Py_False)
            return true;
    return false;
}

// A tensor of bytes on the host, as a part of a layer is.
std::optional<bytes_t> bytes_of(tensor_t tensor) {
    int32_t dtype = 0, device = 0, layout = 0;
    int64_t ndim = 0, size = 0;
    bool is_dense = false;
    void *begin = nullptr;
    if (shim.aoti_torch_get_device_type(tensor, &device) || device != shim.aoti_torch_device_type_cpu() ||
        shim.aoti_torch_get_layout(tensor, &layout) || layout != shim.aoti_torch_layout_strided() ||
        shim.aoti_torch_get_dtype(tensor, &dtype) || dtype != shim.aoti_torch_dtype_uint8() ||
        shim.aoti_torch_get_dim(tensor, &ndim) || ndim != 1 ||
        shim.aoti_torch_is_contiguous(tensor, &is_dense) || !is_dense ||
        shim.aoti_torch_get_numel(tensor, &size) || shim.aoti_torch_get_data_ptr(tensor, &begin))
        return {};
    return bytes_t{begin, size};
}

// The arguments of the operator, which it owns.
class arguments {
public:
    explicit arguments(const stable_t *stack)
        : x_(reinterpret_cast<tensor_t>(stack[0])), in_features_(static_cast<int64_t>(stack[2])),
          out_features_(static_cast<int64_t>(stack[3])) {
        const auto list = reinterpret_cast<list_t>(stack[1]);
        size_t size = 0;
        shim.torch_list_size(list, &size);
        for (size_t i = 0; i < size; ++i) {
            stable_t part = 0;
            shim.torch_list_get_item(list, i, &part);
            layer_.emplace_back(reinterpret_cast<tensor_t>(part));
        }
        shim.torch_delete_list(list);
        if (auto *const dtype = reinterpret_cast<stable_t *>(stack[4])) {
            dtype_ = static_cast<int32_t>(*dtype);
            if (shim.torch_delete_stable_ivalue)
                shim.torch_delete_stable_ivalue(dtype);
            else
                delete dtype;
        }
    }

    owned_tensor compute() const {
        request_t request{0, {}, in_features_, out_features_, 0, 0, 0};
        if (layer_.size() > num_parts)
            return nullptr;
        for (size_t i = 0; i < layer_.size(); ++i) {
            const std::optional<bytes_t> bytes = bytes_of(layer_[i].get());
            if (!bytes)
                return nullptr;
            request.parts[i] = *bytes;
        }
        return zemm_torch::compute(x_.get(), request, dtype_, false);
    }

    bool is_plain() const {
        const python_lock lock;
        tensor_t x = nullptr;
        shim.aoti_torch_new_tensor_handle(x_.get(), &x);
        return zemm_torch::is_plain(python_tensor(owned_tensor(x)).get());
    }

    owned_tensor in_python(PyObject *function) {
        const python_lock lock;
        const owned_object x = python_tensor(std::move(x_));
        const owned_object layer = checked(PyList_New(0));
        for (owned_tensor &part : layer_)
            if (PyList_Append(layer.get(), python_tensor(std::move(part)).get()))
                throw python_error();
        const owned_object y = checked(PyObject_CallFunction(
            function, "OOLLi", x.get(), layer.get(), static_cast<long long>(in_features_),
            static_cast<long long>(out_features_), static_cast<int>(dtype_)));
        return tensor_of(y.get());
    }

private:
    owned_tensor x_;
    std::vector<owned_tensor> layer_;
    int64_t in_features_, out_features_;
    int32_t dtype_ = -1;
};

// Below autograd.
void linear(stable_t *stack, uint64_t, uint64_t) {
    arguments given(stack);
    owned_tensor y = given.compute();
    stack[0] = reinterpret_cast<stable_t>((y ? std::move(y) : given.in_python(python.linear)).release());
}

// Python refuses derivatives, and goes on below autograd where somebody looks for operators.
void linear_of_autograd(stable_t *stack, uint64_t, uint64_t) {
    arguments given(stack);
    owned_tensor y = given.is_plain() ? given.compute() : nullptr;
    stack[0] =
        reinterpret_cast<stable_t>((y ? std::move(y) : given.in_python(python.linear_of_autograd)).release());
}

// call_known(x, layer, names, parts, buffers, in_features, out_features, dst_dtype) -> y, or None: the caller
// asks torch.
PyObject *call_known(PyObject *, PyObject *const *args, Py_ssize_t) {
    PyObject *const x = args[0], *const names = args[2], *const parts = args[3], *const buffers = args[4];
    try {
        for (Py_ssize_t i = 0; i < PyList_Size(parts); ++i)
            if (PyDict_GetItemWithError(buffers, PyTuple_GetItem(names, i)) != PyList_GetItem(parts, i))
                Py_RETURN_NONE;
        if (is_watched() || !is_plain(x) ||
            !is_among(checked(PyObject_CallFunctionObjArgs(python.keys_of, x, nullptr)), python.plain_keys))
            Py_RETURN_NONE;
        const request_t request{PyLong_AsUnsignedLongLong(args[1]),
                                {},
                                PyLong_AsLongLong(args[5]),
                                PyLong_AsLongLong(args[6]),
                                0,
                                0,
                                0};
        const owned_tensor handle = tensor_of(x);
        owned_tensor y = compute(handle.get(), request, static_cast<int32_t>(PyLong_AsLong(args[7])), true);
        if (y)
            return python_tensor(std::move(y)).release();
    } catch (const python_error &error) {
        error.set_error();
        return nullptr;
    }
    Py_RETURN_NONE;
}

void forget(PyObject *capsule) {
    remove(static_cast<known_t *>(PyCapsule_GetPointer(capsule, nullptr)));
    Py_XDECREF(static_cast<PyObject *>(PyCapsule_GetContext(capsule)));
}

PyObject *add_call(PyObject *, PyObject *args) try {
    call_t call{};
    const char *description;
    Py_ssize_t size;
    unsigned long long layer, run, calls, stream, scratch, begins[num_parts];
    long long in_features, out_features, rows, sizes[num_parts];
    PyObject *keep;
    if (!PyArg_ParseTuple(args, "Ky#(KKKKKKK)(LLLLLLL)LLLiiKKKKO", &layer, &description, &size, &begins[0],
                          &begins[1], &begins[2], &begins[3], &begins[4], &begins[5], &begins[6], &sizes[0],
                          &sizes[1], &sizes[2], &sizes[3], &sizes[4], &sizes[5], &sizes[6], &in_features,
                          &out_features, &rows, &call.src_dtype, &call.dst_dtype, &run, &calls, &stream,
                          &scratch, &keep))
        return nullptr;
    call.layer = layer;
    call.description.assign(description, size);
    for (int i = 0; i < num_parts; ++i)
        call.parts[i] = {reinterpret_cast<const void *>(begins[i]), sizes[i]};
    call.in_features = in_features, call.out_features = out_features, call.rows = rows;
    call.run = reinterpret_cast<decltype(call.run)>(run);
    call.calls = reinterpret_cast<const void *>(calls);
    call.stream = reinterpret_cast<void *>(stream), call.scratch = reinterpret_cast<void *>(scratch);
    known_t *const known = add(std::move(call));
    PyObject *const capsule = PyCapsule_New(known, nullptr, forget);
    if (!capsule) {
        remove(known);
        return nullptr;
    }
    Py_INCREF(keep);
    PyCapsule_SetContext(capsule, keep);
    return capsule;
} catch (const std::bad_alloc &) {
    return PyErr_NoMemory();
}

PyObject *register_kernels(PyObject *, PyObject *args) {
    if (const char *const missing = load_shim())
        return PyUnicode_FromString(missing);
    if (!PyArg_ParseTuple(args, "OOOOO!OOO!OO!O!", &python.linear, &python.linear_of_autograd,
                          &python.tensor_of, &python.handle_of, &PyDict_Type, &python.forward_ad,
                          &python.tensor_type, &python.included_keys, &PyTuple_Type, &python.plain_included,
                          &python.keys_of, &PyTuple_Type, &python.plain_keys, &PyTuple_Type,
                          &python.watchers))
        return nullptr;
    Py_INCREF(args); // the process keeps them all
    current_level = PyUnicode_InternFromString("_current_level");
    requires_grad = PyUnicode_InternFromString("requires_grad");
    const std::pair<const char *, kernel_t *> kernels[]{{"CPU", linear}, {"AutogradCPU", linear_of_autograd}};
    for (const auto &[key, kernel] : kernels) {
        library_t library = nullptr; // the process keeps it
        if (shim.aoti_torch_library_init_impl("zemm", key, __FILE__, __LINE__, &library) ||
            shim.torch_library_impl(library, "linear", kernel, torch_2_10)) {
            PyErr_Format(PyExc_RuntimeError, "torch refuses a kernel of zemm::linear for %s", key);
            return nullptr;
        }
    }
    Py_RETURN_NONE;
}

PyObject *number_of_dtype(PyObject *, PyObject *name) {
    const char *const letters = PyUnicode_AsUTF8AndSize(name, nullptr);
    return letters ? PyLong_FromLong(dtype_number(letters)) : nullptr;
}

// step_with(function of set_step_in_python()) -> the address of step().
PyObject *step_with(PyObject *, PyObject *python) {
    set_step_in_python(python);
    return PyLong_FromVoidPtr(reinterpret_cast<void *>(step));
}

PyMethodDef methods[] = {
    {"step_with", step_with, METH_O, nullptr},
    {"register", register_kernels, METH_VARARGS, nullptr},
    {"add_call", add_call, METH_VARARGS, nullptr},
    {"number_of_dtype", number_of_dtype, METH_O, nullptr},
    {"call_known", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_known)), METH_FASTCALL,
     nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_torch_calls", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

} // namespace
} // namespace zemm_torch

PyMODINIT_FUNC PyInit__torch_calls() {
    return PyModule_Create(&zemm_torch::module);
}
