// SPDX-License-Identifier: Apache-2.0
//
// A copy is a folder: the two changed files, and links to the files that the runtime opens beside
// itself. It is kept for later processes. The folder's name says which files it was made from.
//
// A changed name has the length and the hash of the original, so that the tables of the libraries
// stay valid. The dynamic linker's hash multiplies by 33 at each character: "tb" and "uA" are equal.
#include "private_copy.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "border/hash.h"
#include "dependencies.h"
#include "elf_file.h"
#include "library_places.h"
#include "process/room.h"

namespace ze_cpu {
namespace {

namespace fs = std::filesystem;

constexpr const char *own_tbb_name = "libuAb.so.12";
constexpr const char *prefix = "runtime-";
constexpr time_t unused_seconds = 30 * 24 * 3600;

struct Renaming {
    std::string_view from, to;
};
constexpr Renaming renamings[] = {
    {"libtbb.so.12", "libuAb.so.12"}, // compared as texts
    {"N3tbb6detail", "N3uAb6detail"},
    {"NK3tbb6detail", "NK3uAb6detail"},
    {"TBB_runtime_", "U!B_runtime_"},
};

bool is_same_file(const fs::path &a, const fs::path &b) {
    std::error_code ignored;
    return fs::equivalent(a, b, ignored);
}

void rename_all(std::span<char> strings) {
    const std::string_view text(strings.data(), strings.size());
    for (const Renaming &renaming : renamings)
        for (size_t at = text.find(renaming.from); at != text.npos; at = text.find(renaming.from, at))
            std::memcpy(strings.data() + at, renaming.to.data(), renaming.to.size());
    // The empty elements of the run path mean the current directory, slashes change nothing.
    constexpr std::string_view origin = "$ORIGIN:";
    for (size_t at = text.find(origin); at != text.npos; at = text.find(origin, at + 1))
        for (size_t colon = at + origin.size() - 1; text[colon] == ':'; colon++)
            if (text[colon + 1] == ':' || text[colon + 1] == '\0')
                strings[colon] = '/';
}

/// Copies a file's content if a file may be as large, without reading it where the file system can share it.
bool copy_content(int from, int to, off_t size) {
    errno = EFBIG;
    if (!may_have_file(size_t(size)))
        return false;
    for (off_t left = size; left > 0;) {
        ssize_t done = copy_file_range(from, nullptr, to, nullptr, size_t(left), 0);
        if (done < 0 &&
            (errno == EXDEV || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP || errno == EPERM)) {
            char part[1 << 16];
            const ssize_t got = read(from, part, sizeof part);
            done = got <= 0 ? got : write(to, part, size_t(got));
            if (done > 0 && done < got)
                lseek(from, done - got, SEEK_CUR);
        }
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        left -= done;
    }
    return true;
}

/// Makes a changed copy of a library. Returns false, with the reason in errno, if it cannot.
bool make_changed(const fs::path &original, const fs::path &copy) {
    const int from = open(original.c_str(), O_RDONLY | O_CLOEXEC);
    const int to = open(copy.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    struct stat s;
    bool made = from >= 0 && to >= 0 && fstat(from, &s) == 0 && copy_content(from, to, s.st_size);
    if (made) {
        auto elf = ElfFile::open(copy);
        if (elf)
            rename_all(elf->names());
        made = elf && elf->write_names(to);
    }
    made = made && fsync(to) == 0;
    const int reason = errno;
    for (const int file : {from, to})
        if (file >= 0)
            close(file);
    errno = reason;
    return made;
}

/// Whether the runtime opens the file beside itself.
bool is_opened(const std::string &name) {
    for (const char *start :
         {"cl.cfg", "clbltfn", "cllibrary", "libocl_svml_", "libtbbmalloc.so", "libtbbbind"})
        if (name.starts_with(start))
            return true;
    return false;
}

/// A name that changes with the files and with the way in which they are changed.
std::string name_for(const fs::path &runtime, const fs::path &tbb) {
    std::string all;
    for (const fs::path &path : {runtime, tbb}) {
        struct stat s {};
        stat(path.c_str(), &s);
        all += path.string() + '|';
        for (const uint64_t value : {uint64_t(s.st_size), uint64_t(s.st_mtim.tv_sec),
                                     uint64_t(s.st_mtim.tv_nsec), uint64_t(s.st_ino), uint64_t(s.st_dev)})
            all += std::to_string(value) + '|';
    }
    for (const Renaming &renaming : renamings)
        all += renaming.to;
    char text[32];
    std::snprintf(text, sizeof text, "%s%016llx", prefix, static_cast<unsigned long long>(hash_of(all)));
    return text;
}

/// Whether nobody but this user can have written the file or folder.
bool is_own(const fs::path &path, mode_t kind) {
    struct stat s;
    return lstat(path.c_str(), &s) == 0 && s.st_uid == geteuid() && (s.st_mode & S_IFMT) == kind &&
           !(s.st_mode & (S_IWGRP | S_IWOTH));
}

/// Whether the folder has whole copies that only this user can have written.
bool is_usable(const fs::path &folder, const fs::path &runtime, const fs::path &tbb) {
    std::error_code ignored;
    const auto is_whole = [&](const char *name, const fs::path &original) {
        return is_own(folder / name, S_IFREG) &&
               fs::file_size(folder / name, ignored) == fs::file_size(original, ignored);
    };
    return is_own(folder, S_IFDIR) && is_whole(runtime_name, runtime) && is_whole(own_tbb_name, tbb);
}

bool fill(const fs::path &folder, const fs::path &runtime, const fs::path &tbb) {
    if (!make_changed(runtime, folder / runtime_name) || !make_changed(tbb, folder / own_tbb_name))
        return false;
    std::error_code error;
    for (fs::directory_iterator at(runtime.parent_path(), error), end; !error && at != end;
         at.increment(error))
        if (const std::string name = at->path().filename().string(); is_opened(name))
            fs::create_symlink(at->path(), folder / name, error);
    errno = error.value();
    return !error;
}

/// Removes copies that no process has begun to use for a month, and what broken attempts have left.
void remove_old(const fs::path &parent, const fs::path &used) {
    std::error_code ignored;
    std::vector<fs::path> old;
    for (fs::directory_iterator at(parent, ignored), end; !ignored && at != end; at.increment(ignored)) {
        const std::string name = at->path().filename().string();
        struct stat s;
        if ((name.starts_with(prefix) || name.starts_with(".new-")) && at->path() != used &&
            lstat(at->path().c_str(), &s) == 0 && S_ISDIR(s.st_mode) &&
            s.st_mtim.tv_sec < std::time(nullptr) - unused_seconds)
            old.push_back(at->path());
    }
    for (const fs::path &path : old)
        fs::remove_all(path, ignored);
}

/// The folders in which copies may be kept: on the disk, else in memory.
std::vector<fs::path> parents(const trust::Trust &trust) {
    std::vector<fs::path> found;
    const auto add = [&](const char *variable, const char *below) {
        const char *value = secure_getenv(variable);
        if (value && value[0] == '/')
            found.push_back(fs::path(value) / below);
    };
    std::error_code error;
    if (const char *named = secure_getenv("ZE_CPU_CACHE_DIR"); named && *named)
        if (const fs::path folder = fs::absolute(named, error); !error)
            found.push_back(folder);
    add("XDG_CACHE_HOME", "ze_cpu");
    if (const fs::path home = trust.home(); !home.empty())
        found.push_back(home / ".cache/ze_cpu");
    add("XDG_RUNTIME_DIR", "ze_cpu");
    for (const char *folder : {"/dev/shm", "/tmp"})
        found.push_back(fs::path(folder) / ("ze_cpu-" + std::to_string(geteuid())));
    return found;
}

/// The folder of the copies in `parent`; empty, with the reason, if they cannot be made.
fs::path copy_in(const fs::path &parent, const fs::path &runtime, const fs::path &tbb,
                 const trust::Trust &trust, std::string &problem) {
    const auto fail = [&](int reason) {
        problem = parent.string() + ": " + std::strerror(reason);
        return fs::path();
    };
    if (has_space(parent)) {
        problem = parent.string() + ": its name has a space";
        return {};
    }
    // From here on nobody else can put something in the place of a file or folder of the copies.
    if (problem = trust.make_folder(parent); !problem.empty())
        return {};
    if (!is_own(parent.has_filename() ? parent : parent.parent_path(), S_IFDIR))
        return fail(EPERM);
    const fs::path folder = parent / name_for(runtime, tbb);
    if (is_usable(folder, runtime, tbb)) {
        utimensat(AT_FDCWD, folder.c_str(), nullptr, 0); // marks it as used
        return folder;
    }
    std::string fresh = (parent / ".new-XXXXXX").string();
    if (!mkdtemp(fresh.data())) // mode 0700
        return fail(errno);
    std::error_code ignored;
    const bool filled = fill(fresh, runtime, tbb);
    int reason = errno;
    // Another process may have been faster. A folder that cannot be used makes way.
    if (filled && !is_usable(folder, runtime, tbb)) {
        const std::string old = fresh + "-old";
        ::rename(folder.c_str(), old.c_str());
        if (::rename(fresh.c_str(), folder.c_str()) != 0)
            reason = errno;
        fs::remove_all(old, ignored);
    }
    fs::remove_all(fresh, ignored);
    remove_old(parent, folder);
    return is_usable(folder, runtime, tbb) ? folder : fail(reason);
}

} // namespace

bool has_space(const fs::path &folder) {
    return folder.string().find(' ') != std::string::npos;
}

fs::path foreign_tbb(const fs::path &own) {
    if (const fs::path loaded = loaded_library(tbb_name); !loaded.empty() && !is_same_file(loaded, own))
        return loaded;
    // Another name, or part of the program, but visible to all libraries.
    Dl_info info{};
    const void *function = dlsym(RTLD_DEFAULT, "TBB_runtime_interface_version");
    if (function && dladdr(function, &info) && info.dli_fname && !is_same_file(info.dli_fname, own))
        return info.dli_fname;
    return {};
}

bool with_private_copy(const fs::path &runtime, const fs::path &tbb, const trust::Trust &trust,
                       const std::function<bool(const fs::path &)> &use, std::string &problems) {
    std::error_code error;
    const fs::path original = fs::canonical(runtime, error);
    for (const fs::path &parent : parents(trust)) {
        std::string problem;
        const fs::path folder = copy_in(parent, original, tbb, trust, problem);
        if (!folder.empty() && use(folder / runtime_name))
            return true;
        if (folder.empty())
            problems += (problems.empty() ? "" : ", ") + problem;
    }
    return false;
}

} // namespace ze_cpu
