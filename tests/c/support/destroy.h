// SPDX-License-Identifier: Apache-2.0
// An object of zemm that ends with its scope.
#pragma once

#include <utility>

#include "refusals.h"

#define EACH_TYPE(X)                                                                                         \
    X(engine) X(stream) X(memory_desc) X(memory) X(primitive_attr) X(post_ops) X(primitive_desc) X(primitive)
#define FUNCTION(name)                                                                                       \
    inline zemm_status_t destroy_any(zemm_##name##_t object) { return zemm_##name##_destroy(object); }
EACH_TYPE(FUNCTION)
#undef FUNCTION
#undef EACH_TYPE

template <typename T> struct own {
    T object = nullptr;
    explicit own(T from = nullptr) : object(from) {}
    own(own &&other) : object(other.object) { other.object = nullptr; }
    own &operator=(own &&other) {
        std::swap(object, other.object);
        return *this;
    }
    ~own() { end(); }
    void end() {
        const T ending = std::exchange(object, nullptr);
        MUST_END(destroy_any(ending));
    }
    operator T() const { return object; }
    T *operator&() { return &object; }
};
