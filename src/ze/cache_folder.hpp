// SPDX-License-Identifier: Apache-2.0
// The folder of built modules: where it is, whether what lies in it may be run, and its size.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace zemm::ze {

// A warning in the log; a second one of the same text is left out.
void warn_of_cache(const std::string &sentence);

// By ZEMM_CACHE, ZEMM_CACHE_DIR and ZEMM_CACHE_SIZE, read at first use.
class cache_folder {
public:
    cache_folder();

    // False when ZEMM_CACHE=0 says so, or when the folder cannot be made or is one that others write to:
    // machine code is loaded from it. A folder that is only readable is of use.
    bool usable() const { return !path_.empty(); }
    std::string file(const std::string &name) const { return path_ + "/" + name; }

    // The content of a file of ours; false with the reason if there is none ("" when it is just missing) or
    // it is another's. It counts as used now.
    bool read(const std::string &name, size_t limit, std::vector<uint8_t> &content, std::string &why) const;
    // Whole or not at all, whoever reads or writes at the same time.
    void write(const std::string &name, std::span<const uint8_t> content);

private:
    void prune() const; // oldest entries out until there is room

    std::string path_;
    uint64_t limit_;
    uint64_t unpruned_; // bytes written since the folder's size was looked at
};

// Entries are named so: no other file is ever removed.
constexpr char entry_suffix[] = ".zemm";

} // namespace zemm::ze
