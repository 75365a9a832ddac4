// SPDX-License-Identifier: Apache-2.0
//
// The libraries that the OpenCL runtime needs. The runtime's run path has empty elements, which mean
// the current directory, and the dynamic linker looks into LD_LIBRARY_PATH even before. But it does
// not look for a library whose name is in the process already. So the driver finds each library
// itself, in folders that can be trusted, and opens it before the one that needs it.
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "trust/search_path.h"

namespace ze_cpu {

class Dependencies {
public:
    /// Says why a file may not be loaded; "" if it may.
    using Check = std::function<std::string(const std::filesystem::path &)>;

    /// Libraries are taken from `folders` if they are there and `check` allows it, else from the
    /// system.
    Dependencies(const trust::SearchPath &system, std::vector<std::filesystem::path> folders, Check check)
        : system_(system), folders_(std::move(folders)), check_(std::move(check)) {}

    /// Opens all libraries that the file needs, and those that these need. They stay open. Returns
    /// false if one cannot be opened, or, before any is opened, if one cannot be found; `problem` is
    /// the reason then.
    bool open_for(const std::filesystem::path &file, std::string &problem);

    /// Opens the libraries that the runtime's TBB asks for while it is opened, if strangers could
    /// answer for the dynamic linker.
    bool open_companions(std::string &problem);

private:
    bool plan(const std::string &name, std::string &problem);
    bool plan_for(const std::filesystem::path &file, std::string &problem);
    bool open_planned(std::string &problem);
    std::filesystem::path find(const std::string &name, std::string &refusal) const;

    const trust::SearchPath &system_;
    const std::vector<std::filesystem::path> folders_;
    const Check check_;
    std::set<std::string> done_;       // names
    size_t written_bytes_ = 0;         // of the files
    std::vector<std::string> planned_; // files, or names for the dynamic linker, in their order
};

/// The file of the library that is in the process under this name; empty if there is none.
std::filesystem::path loaded_library(const std::string &name);

} // namespace ze_cpu
