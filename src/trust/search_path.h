// SPDX-License-Identifier: Apache-2.0
//
// Where the dynamic linker looks for a library that is asked for by its name. LD_LIBRARY_PATH may
// name folders that other users can write to, or the current directory.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "trust/trust.h"

namespace trust {

/// The absolute path of the library that this code is part of; empty if the system does not tell it.
std::filesystem::path this_library();

class SearchPath {
public:
    explicit SearchPath(const Trust &trust);

    const Trust &trust() const { return trust_; }

    /// Why the dynamic linker could find a library that somebody else has put there; "" if all its
    /// folders can be trusted.
    const std::string &problem() const { return problem_; }

    /// The file with this name in the first trusted folder that has one; empty if there is none.
    std::filesystem::path find(const std::string &name) const;

private:
    const Trust &trust_;
    std::vector<std::filesystem::path> folders_; // those that can be trusted
    std::string problem_;
};

} // namespace trust
