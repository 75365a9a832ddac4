// SPDX-License-Identifier: Apache-2.0
// Formats the sentences of failures.
#include "common/error.hpp"

#include <cstdarg>
#include <cstdio>

namespace zemm {

namespace {

std::string vtext(const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    const int length = std::vsnprintf(nullptr, 0, format, args);
    std::string result(length > 0 ? size_t(length) : 0, '\0');
    if (length > 0)
        std::vsnprintf(result.data(), result.size() + 1, format, again);
    va_end(again);
    return result;
}

} // namespace

void fail(zemm_status_t status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    std::string message;
    try {
        message = vtext(format, args);
    } catch (...) {
        va_end(args);
        throw;
    }
    va_end(args);
    throw error(status, std::move(message));
}

std::string text(const char *format, ...) {
    va_list args;
    va_start(args, format);
    std::string result;
    try {
        result = vtext(format, args);
    } catch (...) {
        va_end(args);
        throw;
    }
    va_end(args);
    return result;
}

} // namespace zemm
