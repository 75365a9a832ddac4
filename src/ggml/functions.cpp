// SPDX-License-Identifier: Apache-2.0
#include "ggml/functions.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace zemm_ggml {

functions api;

namespace {

std::string find_all(void *library, functions &found) {
    const auto find = [&](auto &function, const char *name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
        return function != nullptr;
    };
#define FUNCTION(name, result, arguments)                                                                    \
    if (!find(found.name, "ggml_" #name))                                                                    \
        return "the ggml that loads it does not export ggml_" #name                                          \
               "(): it is older than 0.10, or was linked statically";
#include "ggml/functions.def"
#undef FUNCTION
    return {};
}

std::string check_version(const char *version) {
    int major = -1, minor = -1;
    if (std::sscanf(version, "%d.%d", &major, &minor) == 2 && major == 0 && minor >= ggml::first_minor &&
        minor <= ggml::last_minor)
        return {};
    return std::string("it knows ggml 0.") + std::to_string(ggml::first_minor) + " to 0." +
           std::to_string(ggml::last_minor) + ", and this is ggml " + version +
           ": install a zemm that knows it, or set GGML_ZEMM_ANY_VERSION=1 to try, which works as long as "
           "ggml's interface is still 2 or 3";
}

} // namespace

void *open_library_of(void *address) {
    Dl_info info{};
    void *found = nullptr;
    if (dladdr(address, &info) && info.dli_fname)
        found = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return found ? found : dlopen(nullptr, RTLD_LAZY); // the program itself
}

std::string find_functions(void *caller) {
    functions found;
    void *const library = open_library_of(caller);
    std::string why = library ? find_all(library, found) : "no ggml is loaded";
    if (api.version && why.empty() && found.version != api.version)
        return "another ggml of this process has it, and it serves one";
    if (found.log_internal)
        api.log_internal = found.log_internal;
    if (why.empty() && !is_set("GGML_ZEMM_ANY_VERSION"))
        why = check_version(found.version());
    found.has_interface_3 = library && dlsym(library, "ggml_backend_buft_alloc_buffer_n");
    if (why.empty())
        api = found; // which stays loaded: its handle is not closed
    return why;
}

int operation(const char *name) {
    int op = 0;
    while (std::strcmp(api.op_name(op), name) != 0)
        ++op;
    return op;
}

bool is_set(const char *variable) {
    const char *const text = std::getenv(variable);
    return text && std::string_view(text) == "1";
}

void log(ggml::log_level level, const char *format, ...) noexcept {
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (api.log_internal)
        api.log_internal(level, "zemm: %s\n", line);
    else
        std::fprintf(stderr, "zemm: %s\n", line);
}

} // namespace zemm_ggml
