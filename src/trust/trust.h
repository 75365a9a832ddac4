// SPDX-License-Identifier: Apache-2.0
//
// Which files may be loaded into the process. The rule: a file is trusted if nobody can change it
// who could not already change the code of the process.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

namespace trust {

class Trust {
public:
    explicit Trust(const std::filesystem::path &own_library);

    /// Returns "" if the file, its folder and the folders above up to `prefix` can be trusted, and nobody
    /// can put another file in its place, else what is wrong with which of them. Each must belong to root,
    /// to this process's user, or to the owner of our own library, of the program or of the C library.
    /// Nobody may be able to write to it but its owner, a group that has no other member, and those who may
    /// write to our own library or its folder. The folders above `prefix` are those of make_folder().
    std::string problem_of(const std::filesystem::path &file, const std::filesystem::path &prefix) const;

    /// Makes a folder for code, with access for this user only, and those above it. Returns "" if nobody
    /// else can write to it or put another one in its place, else what is wrong with which folder. Every
    /// folder on the way from the root, also the way that symbolic links take, must be as above, or must be
    /// one through which our own library was found. Where others may write to a folder with the sticky bit,
    /// the entry that is taken from it must be as above.
    std::string make_folder(const std::filesystem::path &folder) const;

    /// The user's home: what HOME names, unless that belongs to a stranger, as after `sudo -E`. Then it is
    /// the home in the password database. Empty if HOME is no absolute path.
    std::filesystem::path home() const;

    /// Returns "" if the folder can be trusted as a place in which the dynamic linker looks for
    /// libraries, else what is wrong with it. The user has chosen it, so it may belong to anybody
    /// and any group may write to it. But not all users may write to it or be able to put another
    /// folder in its place. A relative path means the current directory, which must belong to one of
    /// the owners above.
    std::string problem_of_search_folder(const std::filesystem::path &folder) const;

    /// Returns "" if a file or folder alone can be trusted, else what is wrong with it.
    std::string problem_of(const std::filesystem::path &path) const;

private:
    struct Step;
    template <class Look>
    static std::string walk(const std::filesystem::path &path, std::filesystem::path &missing, Look &&look);

    std::string writers(const std::filesystem::path &path, const struct stat &s) const;
    std::string problem_of_step(const Step &step) const;

    std::vector<uid_t> owners_;
    std::vector<gid_t> groups_;
    std::vector<std::pair<dev_t, ino_t>> above_own_; // the folders through which our own library was found
    bool all_users_ = false;                         // they may write to our own library
};

} // namespace trust
