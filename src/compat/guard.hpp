// SPDX-License-Identifier: Apache-2.0
// The way out of functions of libdnnl.so.3 that do more than forward: as in src/api, no exception
// leaves them.
#pragma once

#include <string>
#include <type_traits>

#include "api/compat.hpp"
#include "client/handles.hpp"

namespace zemm_compat {

using zemm_client::check;
using zemm_client::failure;

[[noreturn]] inline void refuse(const std::string &sentence) {
    throw failure(zemm_compat_refuse(zemm_invalid_arguments, sentence.c_str()));
}

// Runs the body in the guard of zemm's own entry points.
template <typename F> zemm_status_t guarded(F &&body) {
    const auto run = [](void *context) {
        try {
            (*static_cast<std::remove_reference_t<F> *>(context))();
            return zemm_success;
        } catch (const failure &f) {
            return f.status;
        }
    };
    return zemm_compat_guard(run, &body);
}

} // namespace zemm_compat
