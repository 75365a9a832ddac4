// SPDX-License-Identifier: Apache-2.0
#include "ze/features.hpp"

#include <cstring>
#include <vector>

#include "common/env.hpp"
#include "common/error.hpp"
#include "common/verbose.hpp"

namespace zemm::ze {
namespace {

constexpr const char *feature_names[feature_count] = {"avx2", "avx_vnni", "avx512", "avx512_vnni", "dp4a"};

// False for a name that is none.
bool find_feature(const char *name, feature &found) {
    for (unsigned i = 0; i < feature_count; i++)
        if (std::strcmp(name, feature_names[i]) == 0) {
            found = static_cast<feature>(i);
            return true;
        }
    return false;
}

feature_set cpu_features(const api &fn, ze_driver_handle_t driver) {
    constexpr char prefix[] = "ZEX_cpu_";
    constexpr size_t prefix_length = sizeof prefix - 1;
    feature_set set;
    uint32_t count = 0;
    check(fn.zeDriverGetExtensionProperties(driver, &count, nullptr), "zeDriverGetExtensionProperties");
    std::vector<ze_driver_extension_properties_t> extensions(count);
    if (count)
        check(fn.zeDriverGetExtensionProperties(driver, &count, extensions.data()),
              "zeDriverGetExtensionProperties");
    feature found;
    for (const ze_driver_extension_properties_t &e : extensions)
        if (std::strncmp(e.name, prefix, prefix_length) == 0 && find_feature(e.name + prefix_length, found))
            set.add(found);
    if (set.has(feature::avx512_vnni))
        set.add(feature::avx_vnni); // the same instruction, and VL is part of avx512
    return set;
}

feature_set gpu_features(const api &fn, ze_device_handle_t device) {
    feature_set set;
    ze_device_module_properties_t properties = {};
    properties.stype = ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES;
    check(fn.zeDeviceGetModuleProperties(device, &properties), "zeDeviceGetModuleProperties");
    if (properties.flags & ZE_DEVICE_MODULE_FLAG_DP4A)
        set.add(feature::dp4a);
    return set;
}

void apply_mask(feature_set &set) {
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
}

} // namespace

const char *feature_name(feature f) {
    return feature_names[static_cast<unsigned>(f)];
}

void feature_set::hide(feature f) {
    bits_ &= ~bit(f);
    if (f == feature::avx2)
        for (feature above : {feature::avx_vnni, feature::avx512, feature::avx512_vnni})
            bits_ &= ~bit(above);
    if (f == feature::avx512)
        bits_ &= ~bit(feature::avx512_vnni);
}

std::string feature_set::names() const {
    std::string list;
    for (unsigned i = 0; i < feature_count; i++)
        if (has(static_cast<feature>(i)))
            list += (list.empty() ? "" : ",") + std::string(feature_names[i]);
    return list;
}

feature_set reported_features(const api &fn, ze_driver_handle_t driver, ze_device_handle_t device,
                              zemm_engine_kind_t kind) {
    return kind == zemm_cpu ? cpu_features(fn, driver) : gpu_features(fn, device);
}

feature_set features_of(const api &fn, ze_driver_handle_t driver, ze_device_handle_t device,
                        zemm_engine_kind_t kind) {
    feature_set set = reported_features(fn, driver, device, kind);
    apply_mask(set);
    return set;
}

} // namespace zemm::ze
