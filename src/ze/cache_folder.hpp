// SPDX-License-Identifier: Apache-2.0
// The folder on disk that keeps built modules: finds it, checks that no other user can write to it,
// reads and writes its files, and limits its size.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace zemm::ze {

// Logs a warning; a text that was logged before is not repeated.
void warn_of_cache(const std::string &sentence);

// The folder that the environment names now, made and checked. Throws invalid_arguments if built
// modules are not kept.
std::string cache_folder_path();

// The environment variables ZEMM_CACHE, ZEMM_CACHE_DIR and ZEMM_CACHE_SIZE (megabytes) choose the
// folder; the constructor reads them.
class cache_folder {
public:
    cache_folder();

    // False if ZEMM_CACHE is 0, if the folder cannot be made, or if other users may write to it:
    // the process runs machine code from it. A folder that this user can only read is usable.
    bool usable() const { return !path_.empty(); }
    std::string file(const std::string &name) const { return path_ + "/" + name; }

    // Reads a file of at most limit bytes and marks it as used now. False, with the reason in why,
    // if the file is larger, cannot be read or is writable by other users; why is "" if there is no
    // such file.
    bool read(const std::string &name, size_t limit, std::vector<uint8_t> &content, std::string &why) const;
    // Replaces a file. Other threads and processes see the old file or the new one, never a part of
    // one.
    void write(const std::string &name, std::span<const uint8_t> content);

private:
    void prune() const; // removes the least recently used entries until there is room

    std::string path_;
    uint64_t limit_;    // bytes of all entries
    uint64_t unpruned_; // bytes written since the last prune()
};

// The end of every entry's name. prune() removes only files whose name has it.
constexpr char entry_suffix[] = ".zemm";

} // namespace zemm::ze
