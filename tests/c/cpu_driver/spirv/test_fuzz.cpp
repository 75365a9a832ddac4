// SPDX-License-Identifier: Apache-2.0
// Damaged SPIR-V must be refused or built. The driver's reader may never fail on it. Of the modules that the
// reader accepts, few may end the process in the OpenCL runtime, which trusts what it reads. By itself, the
// runtime ended the process on 340 of 600 modules with such damage, and hung on 21.
//
// Arguments: the mode, how many modules to damage for the reader, how many of those that it accepts
// to give to the runtime, the seed.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <random>

#include "cpu_driver/spirv/spirv.h"
#include "spirv_edit.h"
#include "ze_test.h"

using Code = std::vector<uint8_t>;
enum Outcome { built, refused, crashed, hung };

// ---- damage

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

/// A module with random damage to its bytes, words or instructions, or cut off.
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

} // namespace

// ---- attempts

static Outcome attempt(const Code &code) {
    ze_module_handle_t module = nullptr;
    std::string log;
    return build(code, &module, &log) == ZE_RESULT_SUCCESS ? built : refused;
}

/// Builds the module in a process of its own, which it may end. The driver is opened there, because
/// the runtime's threads would not survive a fork.
static Outcome attempt_apart(int argc, char **argv, const Code &code) {
    const int status = wait_for(start_child(
        [&] {
            if (!std::freopen("/dev/null", "w", stderr))
                _exit(3);
            open_driver(argc, argv);
            _exit(attempt(code));
        },
        30));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        std::exit(77);
    return WIFEXITED(status) && WEXITSTATUS(status) <= refused  ? Outcome(WEXITSTATUS(status))
           : WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? hung
                                                                : crashed;
}

static std::vector<std::string> modules() {
    std::vector<std::string> names;
    const std::string folder = std::string(std::getenv("ZE_CPU_TEST_DIR")) + "/spirv/ordinary";
    for (const auto &file : std::filesystem::directory_iterator(folder))
        if (file.path().extension() == ".spv")
            names.push_back("spirv/ordinary/" + file.path().filename().string());
    std::sort(names.begin(), names.end());
    CHECK(names.size() >= 80);
    return names;
}

int main(int argc, char **argv) {
    const int for_reader = argc > 2 ? std::atoi(argv[2]) : 10000,
              for_runtime = argc > 3 ? std::atoi(argv[3]) : 40;
    const unsigned seed = argc > 4 ? unsigned(std::atoi(argv[4])) : 1u;
    const std::vector<std::string> names = modules();
    std::mt19937 random(seed);
    int counts[4] = {}, passed = 0, tried = 0;
    for (int i = 0; i < for_reader; i++) {
        const std::string &name = names[random() % names.size()];
        const Code code = damaged(read_file(name), random);
        ze_cpu::SpirvInfo info;
        std::string error;
        const bool passes = ze_cpu::read_spirv(code.data(), code.size(), info, error);
        CHECK(passes || !error.empty());
        passed += passes;
        if (passed > for_runtime)
            continue;
        tried++;
        if (!passes)
            continue;
        const Outcome outcome = attempt_apart(argc, argv, code);
        counts[outcome]++;
        if (outcome >= crashed)
            std::printf("case %d of %s %s\n", i, name.c_str(),
                        outcome == hung ? "hung" : "ended the process");
    }
    std::printf("%d of %d damaged modules pass the reader; of the first %d the runtime built %d, refused %d, "
                "ended the process at %d, hung at %d\n",
                passed, for_reader, tried, counts[built], counts[refused], counts[crashed], counts[hung]);
    CHECK(passed > 0 && passed < for_reader / 2);
    CHECK((counts[crashed] + counts[hung]) * 20 <= tried); // 5 %
}
