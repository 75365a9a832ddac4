// SPDX-License-Identifier: Apache-2.0
// Makes and reads cache blobs.
#include "primitive/cache_blob.hpp"

#include <map>

#include "common/error.hpp"
#include "common/names.hpp"
#include "primitive/spirv.hpp"
#include "ze/disk_cache.hpp"

namespace zemm {

namespace {

// The sources of the modules, by the keys of their binaries. Kernels may share a module.
std::map<std::string, ze::kernel_source> modules_of(const zemm_primitive_desc &pd) {
    std::map<std::string, ze::kernel_source> modules;
    for (ze::kernel_source &source : pd.sources()) {
        std::string key = ze::disk_cache::key_of(*pd.engine->device, find_spirv(source.name),
                                                 source.constants, source.flags);
        modules.try_emplace(std::move(key), std::move(source));
    }
    return modules;
}

} // namespace

std::string cache_blob_id(const zemm_primitive_desc &pd) {
    std::string id = text("zemm,%s,%s\n", primitive_kind_name(pd.kind()), pd.impl_name());
    for (const auto &[key, source] : modules_of(pd))
        id += key + '\n';
    return id;
}

std::vector<uint8_t> make_cache_blob(const zemm_primitive_desc &pd) {
    std::vector<uint8_t> blob;
    for (const auto &[key, source] : modules_of(pd)) {
        const auto kernel = ze::get_kernel(pd.engine->device, find_spirv(source.name), source.entry,
                                           source.constants, source.flags);
        const std::vector<uint8_t> entry = ze::disk_cache::make_entry(key, kernel->native_binary());
        blob.insert(blob.end(), entry.begin(), entry.end());
    }
    return blob;
}

void load_cache_blob(const zemm_primitive_desc &pd, std::span<const uint8_t> blob) {
    std::map<std::string_view, std::span<const uint8_t>> binaries;
    for (auto rest = blob; !rest.empty();) {
        ze::disk_cache::entry entry;
        if (const char *why = ze::disk_cache::read_entry(rest, entry); *why)
            fail(zemm_invalid_arguments, "the cache blob (%zu bytes) cannot be used, at byte %zu: %s",
                 blob.size(), blob.size() - rest.size(), why);
        binaries[entry.key] = entry.binary;
        rest = rest.subspan(entry.size);
    }
    const auto modules = modules_of(pd);
    for (const auto &[key, source] : modules)
        if (!binaries.contains(key))
            fail(zemm_invalid_arguments,
                 "the cache blob has no binary of %s as this primitive and device need it: its "
                 "cache_blob_id differs",
                 source.name);
    for (const auto &[key, source] : modules)
        ze::add_native_module(*pd.engine->device, find_spirv(source.name), source.constants, source.flags,
                              binaries.at(key));
}

} // namespace zemm
