// SPDX-License-Identifier: Apache-2.0
#include "spirv_samplers.h"

#include "spirv_walk.h"

namespace ze_cpu {

void clamp_samplers(std::vector<uint32_t> &words) {
    spirv_walk::each_instruction(words, [](uint16_t op, std::span<uint32_t> w) {
        if (op != spv::OpConstantSampler)
            return;
        const bool is_normalized = w[4] != 0;
        uint32_t &mode = w[3];
        if (!is_normalized &&
            (mode == spv::SamplerAddressingModeRepeat || mode == spv::SamplerAddressingModeRepeatMirrored))
            mode = spv::SamplerAddressingModeClampToEdge;
    });
}

} // namespace ze_cpu
