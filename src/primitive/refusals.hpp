// SPDX-License-Identifier: Apache-2.0
// Why a problem is refused that is valid: checks that primitives of every kind share, and the reasons of
// implementations.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/memory_desc.hpp"

namespace zemm {

// Why implementations do not take a problem: lines of the log, and a sentence if none takes it.
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

// These throw unimplemented for tensors that no kernel takes. name: the name of the tensor in the sentence.
void refuse_sparse(const char *name, const memory_desc &md);
void refuse_extra(const char *name, const memory_desc &md);
// Refuses a tensor with so many elements that sums of sizes and offsets could overflow.
void refuse_huge(const char *name, const memory_desc &md);
// Refuses a dst in which stride 0 puts several elements in one place. elements: what the sentence
// calls them.
void refuse_shared_places(const memory_desc &dst, const char *elements);

} // namespace zemm
