// SPDX-License-Identifier: Apache-2.0
// The functions of oneDNN that answer unimplemented. They are declared without parameters, as they
// read none: with the calling conventions of C, callers may pass them any.
#include "api/compat.hpp"

#define DNNL_ABSENT(name, sentence)                                                                          \
    extern "C" zemm_status_t ZEMM_API dnnl_##name() {                                                        \
        return zemm_compat_refuse(zemm_unimplemented, sentence);                                             \
    }
#include "compat/compat.def"
