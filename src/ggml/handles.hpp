// SPDX-License-Identifier: Apache-2.0
// Owners of zemm's handles.
#pragma once

#include <memory>
#include <stdexcept>

#include <zemm/zemm.h>

namespace zemm_ggml {

template <auto destroy> struct destroyer {
    template <typename T> void operator()(T *object) const { destroy(object); }
};
template <typename T, auto destroy> using owned = std::unique_ptr<T, destroyer<destroy>>;
using owned_md = owned<zemm_memory_desc, zemm_memory_desc_destroy>;
using owned_attr = owned<zemm_primitive_attr, zemm_primitive_attr_destroy>;
using owned_pd = owned<zemm_primitive_desc, zemm_primitive_desc_destroy>;
using owned_primitive = owned<zemm_primitive, zemm_primitive_destroy>;
using owned_engine = owned<zemm_engine, zemm_engine_destroy>;
using owned_stream = owned<zemm_stream, zemm_stream_destroy>;
using owned_memory = owned<zemm_memory, zemm_memory_destroy>;

// Throws std::runtime_error with zemm's sentence.
inline void check(zemm_status_t status) {
    if (status != zemm_success)
        throw std::runtime_error(zemm_last_error());
}

// Calls make(&handle) and returns the handle's owner.
template <typename Owner, typename F> Owner created(F &&make) {
    typename Owner::pointer handle = nullptr;
    check(make(&handle));
    return Owner(handle);
}

} // namespace zemm_ggml
