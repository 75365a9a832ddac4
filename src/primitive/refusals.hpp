// SPDX-License-Identifier: Apache-2.0
// Why implementations do not take a problem: lines of the log, and a sentence if none takes it.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace zemm {

class refusals {
public:
    // primitive: its kind, such as "matmul". shapes: makes the text of the problem, when it is wanted.
    refusals(const char *primitive, std::function<std::string()> shapes)
        : primitive_(primitive), shapes_(std::move(shapes)) {}

    // implementation: its name, which must outlive this object. Writes a line with
    // ZEMM_VERBOSE=dispatch.
    void add(const char *implementation, std::string why);

    // Throws unimplemented, with the reasons of all implementations.
    [[noreturn]] void fail() const;

private:
    const char *primitive_;
    std::function<std::string()> shapes_;
    std::vector<std::pair<const char *, std::string>> reasons_;
};

} // namespace zemm
