// SPDX-License-Identifier: Apache-2.0
// Owners of torch's tensors and of Python's objects, and Python's exceptions on their way through torch.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include <Python.h>

#include "shim.hpp"

// pybind11, which torch is bound to Python with, calls set_error() of such an exception when it has come
// through the dispatcher. What does not know it takes it for a runtime_error with a sentence.
namespace pybind11 {
class __attribute__((visibility("default"))) builtin_exception : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
    virtual void set_error() const = 0;
};
} // namespace pybind11

namespace zemm_torch {

struct tensor_deleter {
    void operator()(tensor_t tensor) const { shim.aoti_torch_delete_tensor_object(tensor); }
};
using owned_tensor = std::unique_ptr<std::remove_pointer_t<tensor_t>, tensor_deleter>;

// Needs Python's lock.
struct object_deleter {
    void operator()(PyObject *object) const { Py_DECREF(object); }
};
using owned_object = std::unique_ptr<PyObject, object_deleter>;

// Python's lock, whether this thread has it already or not.
class python_lock {
public:
    python_lock() : state_(PyGILState_Ensure()) {}
    ~python_lock() { PyGILState_Release(state_); }
    python_lock(const python_lock &) = delete;
    python_lock &operator=(const python_lock &) = delete;

private:
    const PyGILState_STATE state_;
};

// The exception that is set, which it takes. Python's lock is held.
class python_error : public pybind11::builtin_exception {
public:
    python_error() : python_error(std::make_shared<taken>()) {}
    void set_error() const override {
        const auto &[type, value, traceback] = *taken_;
        for (PyObject *const object : {type, value, traceback})
            Py_XINCREF(object);
        PyErr_Restore(type, value, traceback);
    }

private:
    struct taken {
        PyObject *type, *value, *traceback;
        taken() {
            PyErr_Fetch(&type, &value, &traceback);
            PyErr_NormalizeException(&type, &value, &traceback);
        }
        ~taken() {
            const python_lock lock;
            for (PyObject *const object : {type, value, traceback})
                Py_XDECREF(object);
        }
        std::string sentence() const {
            const owned_object text(value ? PyObject_Str(value) : nullptr);
            const char *const letters = text ? PyUnicode_AsUTF8AndSize(text.get(), nullptr) : nullptr;
            PyErr_Clear();
            return letters ? letters : "an exception of Python";
        }
    };
    explicit python_error(std::shared_ptr<taken> of)
        : builtin_exception(of->sentence()), taken_(std::move(of)) {}
    std::shared_ptr<taken> taken_;
};

// A result of Python, or its exception.
inline owned_object checked(PyObject *object) {
    if (!object)
        throw python_error();
    return owned_object(object);
}

} // namespace zemm_torch
