// SPDX-License-Identifier: Apache-2.0
// Features from a driver's extensions, from a GPU's model and from ZEMM_DEVICE_MASK.
#include "ze/features.hpp"

#include <cstring>

#include "common/env.hpp"
#include "common/error.hpp"
#include "common/verbose.hpp"
#include "ze/extensions.hpp"

namespace zemm::ze {
namespace {

constexpr const char *feature_names[feature_count] = {"avx2",        "avx_vnni", "avx512",   "avx512_vnni",
                                                      "avx512_bf16", "amx_int8", "amx_bf16", "amx_fp16",
                                                      "dp4a",        "xmx",      "block_2d", "tf32"};

// Returns false if no feature has this name.
bool find_feature(const char *name, feature &found) {
    for (unsigned i = 0; i < feature_count; i++)
        if (std::strcmp(name, feature_names[i]) == 0) {
            found = static_cast<feature>(i);
            return true;
        }
    return false;
}

} // namespace

feature_set cpu_features(const api &fn, ze_driver_handle_t driver) {
    const std::string prefix = "ZEX_cpu_";
    feature_set set;
    feature found;
    for (const std::string &name : extensions_of(fn, driver)) {
        if (name.starts_with(prefix) && find_feature(name.c_str() + prefix.size(), found))
            set.add(found);
        if (name == "ZEX_cpu_xe_builtins")
            for (feature f : {feature::dp4a, feature::xmx, feature::block_2d, feature::tf32})
                set.add(f);
    }
    if (set.has(feature::avx512_vnni))
        set.add(feature::avx_vnni); // avx512 includes VL, and VL has vpdpbusd on 256 bits
    return set;
}

feature_set gpu_features(const gpu_model &model) {
    feature_set set;
    const auto add = [&](bool there, feature f) {
        if (there)
            set.add(f);
    };
    add(model.dp4a, feature::dp4a);
    add(model.xmx, feature::xmx);
    add(model.block_2d, feature::block_2d);
    add(model.xmx && model.tf32, feature::tf32);
    return set;
}

feature_set masked(feature_set set) {
    for (const std::string &word : comma_list(env("ZEMM_DEVICE_MASK"))) {
        feature hidden;
        if (find_feature(word.c_str(), hidden)) {
            set.hide(hidden);
        } else if (verbose::enabled(verbose::warn)) {
            std::string valid;
            for (const char *name : feature_names)
                valid += (valid.empty() ? "" : ", ") + std::string(name);
            verbose::print(
                text("common,warn,ZEMM_DEVICE_MASK: \"%s\" is no feature and hides nothing (there are: %s)",
                     word.c_str(), valid.c_str()));
        }
    }
    return set;
}

const char *feature_name(feature f) {
    return feature_names[static_cast<unsigned>(f)];
}

void feature_set::hide(feature f) {
    bits_ &= ~bit(f);
    if (f == feature::avx2)
        for (feature above : {feature::avx_vnni, feature::avx512})
            bits_ &= ~bit(above);
    if (f == feature::avx2 || f == feature::avx512)
        for (feature above : {feature::avx512_vnni, feature::avx512_bf16, feature::amx_int8,
                              feature::amx_bf16, feature::amx_fp16})
            bits_ &= ~bit(above);
    if (f == feature::xmx)
        bits_ &= ~bit(feature::tf32);
}

std::string feature_set::names() const {
    std::string list;
    for (unsigned i = 0; i < feature_count; i++)
        if (has(static_cast<feature>(i)))
            list += (list.empty() ? "" : ",") + std::string(feature_names[i]);
    return list;
}

} // namespace zemm::ze
