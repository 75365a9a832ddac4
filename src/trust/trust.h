// SPDX-License-Identifier: Apache-2.0
//
// Which files may be loaded into the process. The rule: a file is trusted if nobody can change it
// who could not already change the code of the process.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

namespace trust {

class Trust {
public:
    explicit Trust(const std::filesystem::path &own_library);

    /// Returns "" if the file, its folder and the folders above up to `prefix` can be trusted, else
    /// what is wrong with which of them. Each must belong to root, to this process's user, or to
    /// the owner of our own library or of the program. Nobody may be able to write to it but its
    /// owner, a group that has no other member, and those who may write to our own library or its
    /// folder.
    std::string problem_of(const std::filesystem::path &file, const std::filesystem::path &prefix) const;

    /// Returns "" if the folder can be trusted as a place in which the dynamic linker looks for
    /// libraries, else what is wrong with it. The user has chosen it, so it may belong to anybody
    /// and any group may write to it. But not all users may write to it or be able to put another
    /// folder in its place. A relative path means the current directory, which must belong to one of
    /// the owners above.
    std::string problem_of_search_folder(const std::filesystem::path &folder) const;

    /// The same for a file or folder alone.
    std::string problem_of(const std::filesystem::path &path) const;

private:
    std::string problem_of_chain(const std::filesystem::path &folder) const;

    std::vector<uid_t> owners_;
    std::vector<gid_t> groups_;
    bool all_users_ = false; // they may write to our own library
};

} // namespace trust
