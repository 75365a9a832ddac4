// SPDX-License-Identifier: Apache-2.0
// Libraries over zemm's C ABI share these owners of its handles, and its errors as exceptions.
#pragma once

#include <memory>
#include <stdexcept>

#include <zemm/zemm.h>

namespace zemm_client {

// A function of zemm has failed; what() is its sentence.
struct failure : std::runtime_error {
    explicit failure(zemm_status_t status) : std::runtime_error(zemm_last_error()), status(status) {}
    zemm_status_t status;
};

inline void check(zemm_status_t status) {
    if (status != zemm_success)
        throw failure(status);
}

template <auto destroy> struct destroyer {
    template <typename T> void operator()(T *object) const { destroy(object); }
};
template <typename T, auto destroy> using owned = std::unique_ptr<T, destroyer<destroy>>;
using owned_md = owned<zemm_memory_desc, zemm_memory_desc_destroy>;
using owned_attr = owned<zemm_primitive_attr, zemm_primitive_attr_destroy>;
using owned_post_ops = owned<zemm_post_ops, zemm_post_ops_destroy>;
using owned_pd = owned<zemm_primitive_desc, zemm_primitive_desc_destroy>;
using owned_primitive = owned<zemm_primitive, zemm_primitive_destroy>;
using owned_engine = owned<zemm_engine, zemm_engine_destroy>;
using owned_stream = owned<zemm_stream, zemm_stream_destroy>;
using owned_memory = owned<zemm_memory, zemm_memory_destroy>;

// Calls make(&handle) and returns the handle's owner.
template <typename Owner, typename F> Owner created(F &&make) {
    typename Owner::pointer handle = nullptr;
    check(make(&handle));
    return Owner(handle);
}

} // namespace zemm_client
