// SPDX-License-Identifier: Apache-2.0
// Looks up primitives in the primitive cache, by their keys.
#include "primitive/compiled.hpp"

#include "common/error.hpp"
#include "common/md_ops.hpp"
#include "common/names.hpp"

namespace zemm {

namespace {

// The key of a primitive. Different problems, implementations and devices have different keys.
std::string key_of(const zemm_primitive_desc &pd) {
    std::string key = text("%s,%p,%s%s,", primitive_kind_name(pd.kind()), (void *)pd.engine->device.get(),
                           pd.impl_name(), pd.key_text().c_str()) +
                      attr_key(pd.attr());
    for (const memory_desc *md : pd.key_tensors()) {
        const std::vector<uint8_t> bytes = md_save(*md);
        key.append(bytes.begin(), bytes.end());
    }
    return key;
}

} // namespace

std::shared_ptr<const cached> get_compiled(const zemm_primitive_desc &pd, cache_result &where,
                                           const std::function<std::shared_ptr<const cached>()> &build) {
    const std::string key = key_of(pd);
    auto found = find_cached(key);
    where = cache_result::hit;
    if (!found) {
        found = keep_cached(key, build());
        where = found->from_disk ? cache_result::persistent_hit : cache_result::miss;
    }
    return found;
}

bool is_compiled(const zemm_primitive_desc &pd) {
    return find_cached(key_of(pd)) != nullptr;
}

} // namespace zemm
