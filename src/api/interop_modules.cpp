// SPDX-License-Identifier: Apache-2.0
// Entry point that lists the SPIR-V modules a primitive descriptor's kernels are built from.
#include <algorithm>
#include <cstring>

#include "common/guard.hpp"
#include "primitive/primitive_desc.hpp"
#include "primitive/spirv.hpp"
#include "zemm/zemm_ze.h"

using namespace zemm;

namespace {

zemm_ze_module_t module_of(const ze::kernel_source &source) {
    const ze::spirv binary = find_spirv(source.name);
    zemm_ze_module_t module = {};
    module.name = binary.name;
    module.kernel = source.entry;
    module.spirv = binary.words.data();
    module.spirv_size = binary.words.size();
    if (source.constants.size() > ZEMM_ZE_MAX_CONSTANTS)
        fail(zemm_runtime_error, "%s has %zu specialization constants, zemm_ze_module_t holds %d",
             source.name, source.constants.size(), ZEMM_ZE_MAX_CONSTANTS);
    for (const ze::spec_constant &c : source.constants) {
        module.constant_ids[module.num_constants] = c.id;
        module.constant_values[module.num_constants++] = c.value;
    }
    if (std::strlen(source.flags) >= sizeof module.build_flags)
        fail(zemm_runtime_error, "%s has build flags of %zu characters, zemm_ze_module_t holds %zu",
             source.name, std::strlen(source.flags), sizeof module.build_flags - 1);
    std::strcpy(module.build_flags, source.flags);
    return module;
}

} // namespace

zemm_status_t zemm_ze_interop_primitive_desc_get_modules(const_zemm_primitive_desc_t pd, int *count,
                                                         zemm_ze_module_t *modules) {
    return guard([&] {
        require(pd, "primitive_desc");
        require(count, "count");
        const std::vector<ze::kernel_source> sources = pd->sources();
        const int number = int(sources.size());
        if (modules) {
            if (*count < number)
                fail(zemm_invalid_arguments, "count is %d, but %s has %d modules", *count, pd->impl_name(),
                     number);
            std::vector<zemm_ze_module_t> found;
            for (const ze::kernel_source &source : sources)
                found.push_back(module_of(source));
            std::copy(found.begin(), found.end(), modules); // after an error, modules are unchanged
        }
        *count = number;
    });
}
