// SPDX-License-Identifier: Apache-2.0
// File operations of the folder of built modules. Several processes may use the folder at the same
// time.
#include "ze/cache_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <mutex>
#include <set>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/env.hpp"
#include "common/error.hpp"
#include "common/verbose.hpp"
#include "trust/search_path.h"
#include "trust/trust.h"

namespace zemm::ze {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t megabyte = 1 << 20, default_limit = 512;
constexpr char temporary_prefix[] = ".new-";
constexpr time_t abandoned_seconds = 3600; // age at which a temporary file's process must have died

struct file_handle {
    int fd;
    ~file_handle() {
        if (fd >= 0)
            close(fd);
    }
};

// Only this user or root can have written the file or folder.
bool is_trusted(const struct stat &s) {
    return (s.st_uid == geteuid() || s.st_uid == 0) && !(s.st_mode & (S_IWGRP | S_IWOTH));
}

// "" if neither XDG_CACHE_HOME nor HOME is an absolute path.
std::string default_path(const trust::Trust &trust) {
    if (const std::string xdg = env("XDG_CACHE_HOME"); xdg.starts_with('/'))
        return xdg + "/zemm";
    const std::filesystem::path home = trust.home();
    return home.empty() ? "" : home / ".cache/zemm";
}

// Makes the folder if it does not exist. Returns "" if it can be trusted, else the reason why not.
std::string problem_of(const trust::Trust &trust, const std::string &path) {
    const std::string why = trust.make_folder(path);
    struct stat s;
    if (stat(path.c_str(), &s))
        return text("cannot be made (%s)", why.empty() ? std::strerror(errno) : why.c_str());
    if (!S_ISDIR(s.st_mode))
        return "is no folder";
    if (!is_trusted(s))
        return "is writable by other users, and machine code is loaded from it: chmod go-w it, and it must "
               "belong to the user that runs the program";
    if (!why.empty())
        return text("has machine code, and others could put another folder in its place: %s", why.c_str());
    return "";
}

// The folder that the environment names, made and checked. "" if no modules are kept; why is the
// reason then.
std::string find_folder(std::string &why) {
    if (env("ZEMM_CACHE") == "0") {
        why = "ZEMM_CACHE=0 switches the cache off: unset it";
        return "";
    }
    const trust::Trust trust(trust::this_library());
    std::string path = env("ZEMM_CACHE_DIR");
    if (path.empty())
        path = default_path(trust);
    if (path.empty()) {
        why = "neither ZEMM_CACHE_DIR, XDG_CACHE_HOME nor HOME names a folder for them";
        return "";
    }
    std::error_code failure;
    path = fs::absolute(path, failure).string();
    const std::string problem = failure ? failure.message() : problem_of(trust, path);
    if (problem.empty())
        return path;
    why = text("the folder %s %s (ZEMM_CACHE_DIR names another, ZEMM_CACHE=0 does without)", path.c_str(),
               problem.c_str());
    return "";
}

uint64_t limit_from_environment() {
    const std::string value = env("ZEMM_CACHE_SIZE");
    uint64_t limit = default_limit;
    const auto [end, failure] = std::from_chars(value.data(), value.data() + value.size(), limit);
    if (!value.empty() &&
        (failure != std::errc() || end != value.data() + value.size() || limit > (1u << 30))) {
        verbose::warn_of_variable("ZEMM_CACHE_SIZE", "a number of megabytes");
        limit = default_limit;
    }
    return limit * megabyte;
}

bool write_all(int fd, std::span<const uint8_t> content) {
    struct rlimit limit; // a file that grows above it ends the process by a signal
    errno = EFBIG;
    if (!getrlimit(RLIMIT_FSIZE, &limit) && content.size() > limit.rlim_cur)
        return false;
    while (!content.empty()) {
        const ssize_t written = ::write(fd, content.data(), content.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        content = content.subspan(size_t(written));
    }
    return true;
}

} // namespace

void warn_of_cache(const std::string &sentence) {
    verbose::print_once(verbose::warn, "common,warn," + sentence);
}

std::string cache_folder_path() {
    std::string why;
    std::string path = find_folder(why);
    if (path.empty())
        fail(zemm_invalid_arguments, "built kernels are not kept: %s", why.c_str());
    return path;
}

cache_folder::cache_folder() : limit_(limit_from_environment()), unpruned_(limit_) {
    const std::string wanted = env("ZEMM_CACHE");
    if (wanted == "0")
        return;
    if (wanted != "" && wanted != "1")
        verbose::warn_of_variable("ZEMM_CACHE", "0 or 1");
    std::string why;
    path_ = find_folder(why);
    if (path_.empty())
        warn_of_cache("built modules are not kept: " + why);
}

bool cache_folder::read(const std::string &name, size_t limit, std::vector<uint8_t> &content,
                        std::string &why) const {
    // O_NOFOLLOW: no symbolic links. O_NONBLOCK: do not wait if the file turns out to be a pipe.
    const file_handle file{open(this->file(name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
    struct stat s;
    if (file.fd < 0 || fstat(file.fd, &s)) {
        why = errno == ENOENT ? "" : std::strerror(errno);
        return false;
    }
    if (!S_ISREG(s.st_mode) || !is_trusted(s)) {
        why = S_ISREG(s.st_mode) ? "other users can write to it" : "it is no ordinary file";
        return false;
    }
    if (uint64_t(s.st_size) > limit) {
        why = "it is too large";
        return false;
    }
    content.resize(size_t(s.st_size));
    size_t filled = 0;
    while (filled < content.size()) {
        const ssize_t got = ::read(file.fd, content.data() + filled, content.size() - filled);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            why = got < 0 ? std::strerror(errno) : "it ends early";
            return false;
        }
        filled += size_t(got);
    }
    futimens(file.fd, nullptr); // marks it as used; may fail if the folder is only readable
    return true;
}

void cache_folder::write(const std::string &name, std::span<const uint8_t> content) {
    if (content.size() > limit_)
        return;
    if ((unpruned_ += content.size()) > limit_ / 16) { // always true for a process's first entry
        prune();
        unpruned_ = 0;
    }
    // Made first, because nothing may throw while the temporary file exists.
    const std::string path = file(name), pattern = file(temporary_prefix + name + "XXXXXX");
    std::string temporary = pattern;
    file_handle to{mkostemp(temporary.data(), O_CLOEXEC)}; // mode 0600
    // Somebody may have removed the folder.
    if (to.fd < 0 && errno == ENOENT && problem_of(trust::Trust(trust::this_library()), path_).empty()) {
        temporary = pattern;
        to.fd = mkostemp(temporary.data(), O_CLOEXEC);
    }
    const bool made = to.fd >= 0;
    if (made && write_all(to.fd, content) && !rename(temporary.c_str(), path.c_str()))
        return;
    const int reason = errno;
    if (made)
        unlink(temporary.c_str());
    warn_of_cache(text("a built module cannot be kept in %s: %s", path_.c_str(), std::strerror(reason)));
}

void cache_folder::prune() const {
    struct entry {
        std::string path;
        uint64_t size;
        timespec used;
    };
    std::vector<entry> entries;
    uint64_t total = 0;
    std::error_code failure;
    for (fs::directory_iterator it(path_, failure), end; !failure && it != end; it.increment(failure)) {
        const std::string name = it->path().filename().string();
        const bool temporary =
            name.starts_with(temporary_prefix) && name.find(entry_suffix) != std::string::npos;
        struct stat s;
        if ((!temporary && !name.ends_with(entry_suffix)) || lstat(it->path().c_str(), &s) ||
            !S_ISREG(s.st_mode))
            continue;
        if (temporary && s.st_mtim.tv_sec < std::time(nullptr) - abandoned_seconds) {
            unlink(it->path().c_str());
        } else if (!temporary) {
            entries.push_back({it->path().string(), uint64_t(s.st_size), s.st_mtim});
            total += entries.back().size;
        }
    }
    // Stay an eighth below the limit, so that the next entries need no pruning.
    const uint64_t target = limit_ - limit_ / 8;
    if (total <= target)
        return;
    std::ranges::sort(entries, [](const entry &a, const entry &b) {
        return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
    });
    for (const entry &e : entries) {
        if (total <= target)
            return;
        if (!unlink(e.path.c_str()))
            total -= e.size;
    }
}

} // namespace zemm::ze
