// SPDX-License-Identifier: Apache-2.0
// Passes over implementations whose modules the driver failed to build.
#include "primitive/fallback.hpp"

#include <algorithm>

#include "common/env.hpp"
#include "common/error.hpp"
#include "common/md_ops.hpp"
#include "common/names.hpp"
#include "common/verbose.hpp"
#include "primitive/spirv.hpp"

namespace zemm {

namespace {

// The reason of an earlier failed build of the implementation's own module. "" if there was none,
// or if ZEMM_KERNEL forces the implementation.
std::string failure_of(const zemm_primitive_desc &pd) {
    if (!ze::has_build_failures(*pd.engine->device))
        return "";
    const std::string forced = env("ZEMM_KERNEL"); // <name>, or <name>:<how it cuts the problem>
    if (forced.substr(0, forced.find(':')) == pd.impl_name())
        return "";
    const std::vector<ze::kernel_source> sources = pd.sources();
    for (const ze::kernel_source &s : sources) {
        if (std::string(s.name) != sources.front().name)
            continue;
        const std::string reason =
            ze::build_failure(*pd.engine->device, find_spirv(s.name), s.entry, s.constants, s.flags);
        if (!reason.empty())
            return reason;
    }
    return "";
}

void log_failure(const zemm_primitive_desc &pd, const std::string &reason) {
    if (!verbose::enabled(verbose::dispatch))
        return;
    const std::string line = pd.log_text();
    verbose::print(text("primitive,create:dispatch,%s,%s,the driver failed to build it: %s%s",
                        primitive_kind_name(pd.kind()), pd.impl_name(), reason.c_str(),
                        line.substr(line.rfind(',')).c_str())); // the dimensions
}

// Whether memories that the caller made for a primitive of `asked` also serve a primitive of pd.
bool fits(const zemm_primitive_desc &pd, const zemm_primitive_desc &asked) {
    if (asked.attr().scratchpad_mode == zemm_scratchpad_mode_user &&
        pd.scratchpad_size > asked.scratchpad_size)
        return false;
    return std::ranges::all_of(pd.arguments, [&](const auto &entry) {
        const auto found = asked.arguments.find(entry.first);
        return found != asked.arguments.end() &&
               (entry.second.is_scratchpad || md_equal(entry.second.md, found->second.md));
    });
}

} // namespace

void skip_failed(zemm_primitive_desc &pd) {
    const std::string reason = failure_of(pd);
    if (reason.empty())
        return;
    log_failure(pd, reason);
    const std::string failed = pd.impl_name();
    if (!next_working_impl(pd))
        fail(zemm_unimplemented,
             "no kernel is left for this %s; %s: the driver failed to build it: %s (ZEMM_VERBOSE=dispatch "
             "tells of the others)",
             primitive_kind_name(pd.kind()), failed.c_str(), reason.c_str());
}

bool next_working_impl(zemm_primitive_desc &pd) {
    if (!ze::has_build_failures(*pd.engine->device))
        return pd.next_impl();
    const auto ahead = pd.clone(); // pd must not change if no implementation is left
    for (int steps = 1; ahead->next_impl(); ++steps) {
        const std::string reason = failure_of(*ahead);
        if (reason.empty()) {
            while (steps-- > 0)
                pd.next_impl();
            return true;
        }
        log_failure(*ahead, reason);
    }
    return false;
}

std::unique_ptr<zemm_primitive> create_primitive(const zemm_primitive_desc &pd, cache_result &found) {
    std::unique_ptr<zemm_primitive_desc> later;
    bool passed_over = false; // whether a working implementation did not fit
    for (;;) {
        const zemm_primitive_desc &current = later ? *later : pd;
        try {
            return current.create(found);
        } catch (const ze::build_error &e) {
            const std::string failed = current.impl_name();
            if (e.module() != current.sources().front().name)
                throw;
            if (!later)
                later = pd.clone();
            bool taken = false;
            while (!taken && next_working_impl(*later)) {
                taken = fits(*later, pd);
                passed_over = passed_over || !taken;
            }
            if (!taken && !passed_over)
                throw;
            if (!taken)
                fail(zemm_runtime_error,
                     "create the primitive descriptor again: it then leaves %s out, and the kernels that are "
                     "left "
                     "need other weights or more scratchpad than this one says; %s",
                     failed.c_str(), e.what());
            verbose::print_once(verbose::error | verbose::warn,
                                text("primitive,warn,%s,%s is left out: %s; %s runs instead",
                                     primitive_kind_name(pd.kind()), failed.c_str(), e.what(),
                                     later->impl_name()));
        }
    }
}

} // namespace zemm
