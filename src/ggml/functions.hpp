// SPDX-License-Identifier: Apache-2.0
// The functions of the ggml that loaded this library. It is found in the process, not by the linker: a
// program may have more than one ggml, or one under any name.
#pragma once

#include <string>

#include "ggml/abi.hpp"

namespace zemm_ggml {

struct functions {
#define FUNCTION(name, result, arguments) result(*name) arguments = nullptr;
#include "ggml/functions.def"
#undef FUNCTION
    // ggml's number of the interface that its backends must have.
    int interface() const { return has_interface_3 ? 3 : 2; }
    bool has_interface_3 = false;
};

// The functions of the loaded ggml; valid after a find_functions() that returned no sentence.
extern functions api;

// Finds the functions in the library, or program, that has the address `caller`, and in those it was linked
// with. Returns why that is no ggml this backend knows or serves, or an empty string.
std::string find_functions(void *caller);

// The loaded library, or program, that has the address; dlsym() also searches those it was linked with.
void *open_library_of(void *address);

// ggml's number of an operation, by its name: its versions move them.
int operation(const char *name);

// Whether the variable of the environment is 1.
bool is_set(const char *variable);

// Writes a line into ggml's log, or to stderr before ggml is known. It allocates nothing: it also reports
// that memory is short.
[[gnu::format(printf, 2, 3)]] void log(ggml::log_level, const char *format, ...) noexcept;

} // namespace zemm_ggml
