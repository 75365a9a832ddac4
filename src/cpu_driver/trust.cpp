// SPDX-License-Identifier: Apache-2.0
#include "trust.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ze_cpu {
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

} // namespace ze_cpu
