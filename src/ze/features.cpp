// SPDX-License-Identifier: Apache-2.0
// Features from a driver's extensions, from a GPU's model and from ZEMM_DEVICE_MASK.
#include "ze/features.hpp"

#include <cstring>
#include <iterator>

#include "common/env.hpp"
#include "common/error.hpp"
#include "common/verbose.hpp"
#include "ze/query.hpp"

namespace zemm::ze {
namespace {

// Numbers of features, for the columns of isa.def that name another row.
namespace row {
constexpr int none = -1;
#define ZEMM_ISA(name, needs) constexpr int name = int(feature::name);
#include "lists/isa.def"
} // namespace row

struct isa {
    const char *name;
    int needs, also = row::none;
};
constexpr isa isas[] = {
#define ZEMM_CPU_ISA(name, needs, also, detection) {#name, row::needs, row::also},
#define ZEMM_XE_ISA(name, needs) {#name, row::needs},
#include "lists/isa.def"
};
constexpr unsigned feature_count = std::size(isas);

// Returns false if no feature has this name.
bool find_feature(const char *name, feature &found) {
    for (unsigned i = 0; i < feature_count; i++)
        if (std::strcmp(name, isas[i].name) == 0) {
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
        if (name == "ZEX_cpu_xe_builtins") {
#define ZEMM_XE_ISA(name, needs) set.add(feature::name);
#include "lists/isa.def"
        }
    }
    for (unsigned i = 0; i < feature_count; i++)
        if (set.has(feature(i)) && isas[i].also != row::none)
            set.add(feature(isas[i].also));
    return set;
}

feature_set gpu_features(const gpu_model &model) {
    feature_set set;
#define ZEMM_XE_ISA(name, needs)                                                                             \
    if (model.name && (row::needs == row::none || set.has(feature(row::needs))))                             \
        set.add(feature::name);
#include "lists/isa.def"
    return set;
}

feature_set masked(feature_set set) {
    for (const std::string &word : comma_list(env("ZEMM_DEVICE_MASK"))) {
        feature hidden;
        if (find_feature(word.c_str(), hidden)) {
            set.hide(hidden);
        } else if (verbose::enabled(verbose::warn)) {
            std::string valid;
            for (const isa &known : isas)
                valid += (valid.empty() ? "" : ", ") + std::string(known.name);
            verbose::print(
                text("common,warn,ZEMM_DEVICE_MASK: \"%s\" is no feature and hides nothing (there are: %s)",
                     word.c_str(), valid.c_str()));
        }
    }
    return set;
}

const char *feature_name(feature f) {
    return isas[static_cast<unsigned>(f)].name;
}

void feature_set::hide(feature f) {
    uint32_t hidden = bit(f);
    for (unsigned i = 0; i < feature_count; i++) // a row stands behind those that it needs
        if (isas[i].needs != row::none && (hidden & bit(feature(isas[i].needs))))
            hidden |= bit(feature(i));
    bits_ &= ~hidden;
}

std::string feature_set::names() const {
    std::string list;
    for (unsigned i = 0; i < feature_count; i++)
        if (has(static_cast<feature>(i)))
            list += (list.empty() ? "" : ",") + std::string(isas[i].name);
    return list;
}

} // namespace zemm::ze
