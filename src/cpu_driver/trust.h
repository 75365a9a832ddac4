// SPDX-License-Identifier: Apache-2.0
//
// Which files may be loaded into the process. The rule: nobody may be able to change them who could not
// change the code that runs in it already.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

namespace ze_cpu {

class Trust {
public:
    explicit Trust(const std::filesystem::path &own_library);

    /// "" if the file, its folder and the folders above it up to `prefix` can be trusted, else what is wrong
    /// with which of them. They must belong to root, this process's user, or the owner of our own library or
    /// of the program; and only their owner may write to them, a group that is the owner's alone, or who may
    /// write to our own library or its folder.
    std::string problem_of(const std::filesystem::path &file, const std::filesystem::path &prefix) const;

private:
    std::string problem_of(const std::filesystem::path &path) const;

    std::vector<uid_t> owners_;
    std::vector<gid_t> groups_;
    bool all_users_ = false; // may write to our own library
};

} // namespace ze_cpu
