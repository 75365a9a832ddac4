// SPDX-License-Identifier: Apache-2.0
#include "trust/trust.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace trust {
namespace {

namespace fs = std::filesystem;

template <class T> bool contains(const std::vector<T> &list, const T &value) {
    return std::find(list.begin(), list.end(), value) != list.end();
}

/// The entry of a user in the password database, or null. The strings are in `storage`.
const passwd *entry_of(uid_t user, passwd &entry, std::vector<char> &storage) {
    passwd *found = nullptr;
    return getpwuid_r(user, &entry, storage.data(), storage.size(), &found) ? nullptr : found;
}

/// Whether the user is the only member of a group. Distributions make such a group for each user;
/// with the umask 002 the user's folders are writable by it.
bool is_private_group(gid_t group, uid_t user) {
    std::vector<char> of_user(1 << 14), of_group(1 << 14);
    passwd entry{};
    const passwd *found_user = entry_of(user, entry, of_user);
    struct group group_entry {
    }, *found_group = nullptr;
    if (!found_user || found_user->pw_gid != group ||
        getgrgid_r(group, &group_entry, of_group.data(), of_group.size(), &found_group) || !found_group ||
        std::strcmp(found_group->gr_name, found_user->pw_name) != 0)
        return false;
    for (char **member = found_group->gr_mem; *member; member++)
        if (std::strcmp(*member, found_user->pw_name) != 0)
            return false;
    return true;
}

/// Whether a list names other writers than the file's mode does.
bool has_list(const fs::path &path) {
    return getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
}

std::string belongs_to(const fs::path &path, uid_t user) {
    return path.string() + " belongs to user " + std::to_string(user);
}

} // namespace

/// A step on the way to a file: a folder, and what is taken from it.
struct Trust::Step {
    const fs::path &folder;
    const struct stat &of_folder;
    const fs::path &entry;       // empty if the way ends in the folder
    const struct stat *of_entry; // null if there is none
};

/// Goes the way of a path from the root, through each symbolic link, and calls `look` with each step until
/// it returns a reason. Returns that reason, or why the way ends early. A way ends without a reason where
/// an entry is missing, which `missing` is then.
template <class Look> std::string Trust::walk(const fs::path &path, fs::path &missing, Look &&look) {
    constexpr int most_links = 40; // as in the kernel
    const auto failed = [](const fs::path &at, int reason) {
        return at.string() + ": " + std::strerror(reason);
    };
    missing.clear();
    std::error_code error;
    const fs::path whole = fs::absolute(path, error);
    if (error)
        return failed(path, error.value());
    std::vector<fs::path> parts; // in turn, the next one is the last
    const auto put = [&](const fs::path &added) {
        std::vector<fs::path> turned(added.begin(), added.end());
        parts.insert(parts.end(), turned.rbegin(), turned.rend());
    };
    put(whole);
    fs::path folder = "/", entry;
    struct stat of_folder, of_entry;
    for (int links = 0; !parts.empty();) {
        const fs::path part = std::move(parts.back());
        parts.pop_back();
        if (part.is_absolute())
            folder = "/";
        else if (part == "..")
            folder = folder.parent_path();
        if (part.is_absolute() || part == ".." || part == "." || part.empty())
            continue;
        entry = folder / part;
        if (lstat(folder.c_str(), &of_folder) != 0)
            return failed(folder, errno);
        const bool exists = lstat(entry.c_str(), &of_entry) == 0;
        if (!exists && errno != ENOENT)
            return failed(entry, errno);
        std::string problem = look({folder, of_folder, entry, exists ? &of_entry : nullptr});
        if (!problem.empty())
            return problem;
        if (!exists) {
            missing = entry;
            return "";
        }
        if (S_ISLNK(of_entry.st_mode)) {
            const fs::path target = fs::read_symlink(entry, error);
            if (error || ++links > most_links)
                return failed(entry, error ? error.value() : ELOOP);
            put(target);
        } else if (S_ISDIR(of_entry.st_mode)) {
            folder = entry;
        } else {
            return parts.empty() ? "" : failed(entry, ENOTDIR);
        }
    }
    if (lstat(folder.c_str(), &of_folder) != 0)
        return failed(folder, errno);
    return look({folder, of_folder, {}, nullptr});
}

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
    fs::path ignored;
    walk(own_library, ignored, [this](const Step &step) {
        above_own_.emplace_back(step.of_folder.st_dev, step.of_folder.st_ino);
        return std::string();
    });
}

/// Who may write to a file or folder besides its owner; "" if nobody who could not change our own library.
std::string Trust::writers(const fs::path &path, const struct stat &s) const {
    if ((s.st_mode & S_IWOTH) && !all_users_)
        return " is writable by all users (chmod o-w it)";
    if (!(s.st_mode & S_IWGRP) || contains(groups_, s.st_gid))
        return "";
    if (!is_private_group(s.st_gid, s.st_uid))
        return " is writable by group " + std::to_string(s.st_gid) + " (chmod g-w it)";
    return has_list(path) ? " is writable by those whom getfacl names (chmod g-w it)" : "";
}

std::string Trust::problem_of(const fs::path &path) const {
    struct stat s;
    if (stat(path.c_str(), &s) != 0)
        return path.string() + ": " + std::strerror(errno);
    if (!contains(owners_, s.st_uid))
        return belongs_to(path, s.st_uid);
    const std::string who = writers(path, s);
    return who.empty() ? "" : path.string() + who;
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
            break;
    }
    fs::path missing;
    return walk(file, missing, [this](const Step &step) { return problem_of_step(step); });
}

/// The reason not to trust a step on the way to code.
std::string Trust::problem_of_step(const Step &step) const {
    const struct stat &s = step.of_folder;
    const bool is_above_own = contains(above_own_, {s.st_dev, s.st_ino}), is_sticky = s.st_mode & S_ISVTX;
    if (!contains(owners_, s.st_uid) && !is_above_own)
        return belongs_to(step.folder, s.st_uid);
    const std::string who = writers(step.folder, s);
    if (who.empty() || (is_above_own && !is_sticky))
        return "";
    if (step.entry.empty() || !is_sticky)
        return step.folder.string() + who;
    return !step.of_entry || contains(owners_, step.of_entry->st_uid)
               ? ""
               : belongs_to(step.entry, step.of_entry->st_uid);
}

fs::path Trust::home() const {
    const char *named = secure_getenv("HOME");
    if (!named || named[0] != '/')
        return {};
    struct stat s;
    std::vector<char> storage(1 << 14);
    passwd entry{};
    const passwd *user =
        stat(named, &s) == 0 && !contains(owners_, s.st_uid) ? entry_of(geteuid(), entry, storage) : nullptr;
    return user && user->pw_dir[0] == '/' ? user->pw_dir : named;
}

std::string Trust::make_folder(const fs::path &folder) const {
    for (;;) {
        fs::path missing;
        std::string problem =
            walk(folder, missing, [this](const Step &step) { return problem_of_step(step); });
        if (!problem.empty() || missing.empty())
            return problem;
        if (mkdir(missing.c_str(), 0700) != 0 && errno != EEXIST)
            return missing.string() + ": " + std::strerror(errno);
    }
}

std::string Trust::problem_of_search_folder(const fs::path &folder) const {
    // Nobody has chosen the current directory as a place of libraries.
    if (!folder.is_absolute())
        if (std::string problem = problem_of(folder); !problem.empty())
            return problem;
    fs::path missing;
    return walk(folder, missing, [this](const Step &step) -> std::string {
        if (!(step.of_folder.st_mode & S_IWOTH) || all_users_)
            return "";
        if (step.entry.empty() || !(step.of_folder.st_mode & S_ISVTX))
            return step.folder.string() + " is writable by all users";
        if (!step.of_entry)
            return step.entry.string() + " does not exist, and all users may make it";
        return contains(owners_, step.of_entry->st_uid) ? "" : belongs_to(step.entry, step.of_entry->st_uid);
    });
}

} // namespace trust
