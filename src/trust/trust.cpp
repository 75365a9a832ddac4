// SPDX-License-Identifier: Apache-2.0
#include "trust/trust.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace trust {
namespace {

namespace fs = std::filesystem;

template <class T> bool contains(const std::vector<T> &list, T value) {
    return std::find(list.begin(), list.end(), value) != list.end();
}

/// Whether the user is the only member of a group. Distributions make such a group for each user;
/// with the umask 002 the user's folders are writable by it.
bool is_private_group(gid_t group, uid_t user) {
    std::vector<char> of_user(1 << 14), of_group(1 << 14);
    passwd user_entry{}, *found_user = nullptr;
    struct group group_entry {
    }, *found_group = nullptr;
    if (getpwuid_r(user, &user_entry, of_user.data(), of_user.size(), &found_user) || !found_user ||
        found_user->pw_gid != group ||
        getgrgid_r(group, &group_entry, of_group.data(), of_group.size(), &found_group) || !found_group ||
        std::strcmp(found_group->gr_name, found_user->pw_name) != 0)
        return false;
    for (char **member = found_group->gr_mem; *member; member++)
        if (std::strcmp(*member, found_user->pw_name) != 0)
            return false;
    return true;
}

} // namespace

Trust::Trust(const fs::path &own_library) : owners_{0, geteuid()} {
    struct stat s;
    const auto add_writers = [&] {
        if (s.st_mode & S_IWGRP)
            groups_.push_back(s.st_gid);
        all_users_ = all_users_ || (s.st_mode & S_IWOTH);
    };
    if (stat(own_library.c_str(), &s) == 0) {
        owners_.push_back(s.st_uid);
        add_writers();
    }
    // In a folder with the sticky bit others may add files, but not replace our library.
    if (stat(own_library.parent_path().c_str(), &s) == 0 && !(s.st_mode & S_ISVTX))
        add_writers();
    if (stat("/proc/self/exe", &s) == 0)
        owners_.push_back(s.st_uid);
    // In a user namespace the files of the system may belong to somebody else than user 0.
    Dl_info c_library{};
    if (dladdr(reinterpret_cast<const void *>(&gnu_get_libc_version), &c_library) && c_library.dli_fname &&
        stat(c_library.dli_fname, &s) == 0)
        owners_.push_back(s.st_uid);
}

std::string Trust::problem_of(const fs::path &path) const {
    struct stat s;
    if (stat(path.c_str(), &s) != 0)
        return path.string() + ": " + std::strerror(errno);
    if (!contains(owners_, s.st_uid))
        return path.string() + " belongs to user " + std::to_string(s.st_uid);
    if ((s.st_mode & S_IWOTH) && !all_users_)
        return path.string() + " is writable by all users (chmod o-w it)";
    if ((s.st_mode & S_IWGRP) && !contains(groups_, s.st_gid) && !is_private_group(s.st_gid, s.st_uid))
        return path.string() + " is writable by group " + std::to_string(s.st_gid) + " (chmod g-w it)";
    return "";
}

std::string Trust::problem_of(const fs::path &file, const fs::path &prefix) const {
    std::error_code error;
    const fs::path real = fs::canonical(file, error);
    if (error)
        return file.string() + ": " + error.message();
    for (const fs::path &path : {file, real.parent_path()})
        if (std::string problem = problem_of(path); !problem.empty())
            return problem;
    for (fs::path folder = file.parent_path();; folder = folder.parent_path()) {
        if (std::string problem = problem_of(folder); !problem.empty())
            return problem;
        if (folder == prefix || folder == folder.root_path())
            return "";
    }
}

std::string Trust::problem_of_chain(const fs::path &folder) const {
    for (fs::path at = folder, below;; below = at, at = at.parent_path()) {
        struct stat s;
        const bool exists = lstat(at.c_str(), &s) == 0;
        if (!exists && errno != ENOENT)
            return at.string() + ": " + std::strerror(errno);
        if (exists && !S_ISLNK(s.st_mode) && (s.st_mode & S_IWOTH) && !all_users_) {
            struct stat inner;
            if (below.empty() || !(s.st_mode & S_ISVTX))
                return at.string() + " is writable by all users";
            if (lstat(below.c_str(), &inner) != 0)
                return below.string() + " does not exist, and all users may make it";
            if (!contains(owners_, inner.st_uid))
                return below.string() + " belongs to user " + std::to_string(inner.st_uid);
        }
        if (at == at.root_path())
            return "";
    }
}

std::string Trust::problem_of_search_folder(const fs::path &folder) const {
    std::error_code error;
    const fs::path path = fs::absolute(folder, error).lexically_normal();
    const fs::path real = error ? fs::path() : fs::weakly_canonical(path, error);
    if (error)
        return folder.string() + ": " + error.message();
    // Nobody has chosen the current directory as a place of libraries.
    if (!folder.is_absolute())
        if (std::string problem = problem_of(real); !problem.empty())
            return problem;
    std::string problem = problem_of_chain(path);
    return problem.empty() ? problem_of_chain(real) : problem;
}

} // namespace trust
