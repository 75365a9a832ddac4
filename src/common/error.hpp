// SPDX-License-Identifier: Apache-2.0
// Failures inside the library are exceptions that carry a status and a sentence.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "zemm/zemm_types.h"

namespace zemm {

class error : public std::exception {
public:
    error(zemm_status_t status, std::string message) : status_(status), message_(std::move(message)) {}
    zemm_status_t status() const { return status_; }
    const char *what() const noexcept override { return message_.c_str(); }

private:
    zemm_status_t status_;
    std::string message_;
};

// Throws an error with a printf-style sentence. The sentence names the argument and its values.
[[noreturn]] void fail(zemm_status_t status, const char *format, ...) __attribute__((format(printf, 2, 3)));

// A printf-style string.
std::string text(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Throws invalid_arguments if the pointer is NULL. name: the parameter's name in the public header.
inline void require(const void *pointer, const char *name) {
    if (!pointer)
        fail(zemm_invalid_arguments, "%s is NULL", name);
}

} // namespace zemm
