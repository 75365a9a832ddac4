// SPDX-License-Identifier: Apache-2.0
#include "spirv_edit.h"

#include <utility>

namespace {

using Words = SpirvModule::Words;

std::vector<uint8_t> with_other_bytes(std::vector<uint8_t> code, std::mt19937 &random) {
    for (int n = 1 + int(random() % 3); n > 0; n--) {
        const size_t at = random() % code.size();
        code[at] = random() % 2 ? uint8_t(code[at] ^ (1u << random() % 8)) : uint8_t(random());
    }
    return code;
}

Words &any(SpirvModule &module, std::mt19937 &random) {
    return module.instructions[random() % module.instructions.size()];
}

/// A random word for the place of another: an id, a word of the module, the same word with one bit
/// changed, a small number, an extreme one.
uint32_t another(uint32_t word, SpirvModule &module, std::mt19937 &random) {
    switch (random() % 5) {
    case 0:
        return 1 + random() % module.header[3];
    case 1: {
        const Words &from = any(module, random);
        return from[random() % from.size()];
    }
    case 2:
        return word ^ (1u << random() % 32);
    case 3:
        return random() % 64;
    default:
        return random() % 2 ? UINT32_MAX : module.header[3];
    }
}

void damage(SpirvModule &module, std::mt19937 &random) {
    auto &all = module.instructions;
    Words &one = any(module, random);
    const size_t at = random() % one.size();
    switch (random() % 7) {
    case 0:
        if (at > 0)
            one[at] = another(one[at], module, random);
        break;
    case 1: // another opcode
        one[0] = (one[0] & 0xffff0000) | (any(module, random)[0] & 0xffff);
        break;
    case 2:
        all.erase(all.begin() + (&one - all.data()));
        break;
    case 3: {
        const Words copy = one;
        all.insert(all.begin() + long(random() % (all.size() + 1)), copy);
        break;
    }
    case 4:
        std::swap(one, any(module, random));
        break;
    case 5: // a word too many
        one.insert(one.begin() + long(at) + 1, another(0, module, random));
        one[0] += 0x10000;
        break;
    default: // a word too few
        if (at > 0) {
            one.erase(one.begin() + long(at));
            one[0] -= 0x10000;
        }
    }
}

} // namespace

std::vector<uint8_t> damaged(const std::vector<uint8_t> &code, std::mt19937 &random) {
    const uint32_t kind = random() % 8;
    if (kind == 0)
        return with_other_bytes(code, random);
    if (kind == 1)
        return {code.begin(), code.begin() + long(random() % (code.size() / 4) * 4)};
    SpirvModule module(code);
    for (int n = 1 + int(random() % 2); n > 0 && !module.instructions.empty(); n--)
        damage(module, random);
    return module.bytes();
}
