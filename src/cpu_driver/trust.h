// SPDX-License-Identifier: Apache-2.0
//
// Which files may be loaded into the process. The rule: a file is trusted if nobody can change it
// who could not already change the code of the process.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

namespace ze_cpu {

class Trust {
public:
    explicit Trust(const std::filesystem::path &own_library);

    /// Returns "" if the file, its folder and the folders above up to `prefix` can be trusted, else
    /// what is wrong with which of them. Each must belong to root, to this process's user, or to
    /// the owner of our own library or of the program. Nobody may be able to write to it but its
    /// owner, a group that has no other member, and those who may write to our own library or its
    /// folder.
    std::string problem_of(const std::filesystem::path &file, const std::filesystem::path &prefix) const;

private:
    std::string problem_of(const std::filesystem::path &path) const;

    std::vector<uid_t> owners_;
    std::vector<gid_t> groups_;
    bool all_users_ = false; // they may write to our own library
};

} // namespace ze_cpu
