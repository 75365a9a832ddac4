// SPDX-License-Identifier: Apache-2.0
#include "primitive/spirv.hpp"

#include "common/error.hpp"

namespace zemm {

ze::spirv find_spirv(const std::string &name) {
    for (unsigned i = 0; i < spirv_count; ++i)
        if (name == spirv_table[i].name)
            return {spirv_table[i].name, {spirv_table[i].data, spirv_table[i].size}, spirv_table[i].hash};
    fail(zemm_runtime_error, "the library was built without the kernel %s", name.c_str());
}

} // namespace zemm
