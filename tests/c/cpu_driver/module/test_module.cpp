// SPDX-License-Identifier: Apache-2.0
// Modules: specialisation constants, logs, native binaries, bad input.
#include "ze_test.h"

#include <algorithm>

#include "spirv_edit.h"

static const std::vector<uint8_t> &kernels() {
    static const auto code = read_file("kernels.spv");
    return code;
}

TEST(constants) {
    const auto usual = run(loaded("kernels.spv"), "specialised");
    CHECK(usual[0] == 42 && usual[1] == 1000);
    Owned<ze_module_handle_t> module;
    const int seven = 77, nine = 99, unknown = 1;
    const uint32_t ids[] = {9, 12345, 7};
    const void *values[] = {&nine, &unknown, &seven};
    ze_module_constants_t c{3, ids, values};
    std::string log;
    OK(build(kernels(), &module, &log, ZE_MODULE_FORMAT_IL_SPIRV, nullptr, &c));
    CHECK(log.find("12345") != std::string::npos);
    const auto out = run(module, "specialised");
    CHECK(out[0] == 77 && out[1] == 99);
}

TEST(flags) {
    ze_module_handle_t module = nullptr;
    std::string log;
    for (const char *flags :
         {"-ze-opt-disable", "-ze-opt-level=0", "-ze-opt-level 2 -g", "-ze-opt-disable,-g",
          "-cl-fast-relaxed-math", "-ze-opt-large-register-file", "-ze-no-such-flag", ""}) {
        OK(build(kernels(), &module, &log, ZE_MODULE_FORMAT_IL_SPIRV, flags));
        OK(ze.zeModuleDestroy(module));
        // The log of a successful build is empty, unless a flag is unknown.
        const bool is_unknown = std::string(flags) == "-ze-no-such-flag";
        CHECK(is_unknown ? log.find("-ze-no-such-flag") != std::string::npos : log.empty());
    }
    REFUSED(MODULE_BUILD_FAILURE,
            build(kernels(), &module, &log, ZE_MODULE_FORMAT_IL_SPIRV, "-cl-no-such-option"));
    CHECK(!log.empty());
}

static void check_names_and_properties(ze_module_handle_t module) {
    uint32_t count = 0;
    OK(ze.zeModuleGetKernelNames(module, &count, nullptr));
    CHECK(count == 10);
    std::vector<const char *> names(count);
    OK(ze.zeModuleGetKernelNames(module, &count, names.data()));
    CHECK(
        std::any_of(names.begin(), names.end(), [](const char *n) { return std::string(n) == "local_sum"; }));
    const auto properties = filled(ZE_STRUCTURE_TYPE_MODULE_PROPERTIES, ze.zeModuleGetProperties, module);
    CHECK(properties.flags == 0);
    ze_kernel_desc_t desc{ZE_STRUCTURE_TYPE_KERNEL_DESC, nullptr, 0, "no_such_kernel"};
    ze_kernel_handle_t kernel = nullptr;
    REFUSED(INVALID_KERNEL_NAME, ze.zeKernelCreate(module, &desc, &kernel));
    REFUSED(INVALID_NULL_POINTER, ze.zeKernelCreate(module, nullptr, &kernel));
}

TEST(native) {
    ze_module_handle_t module = nullptr, again = nullptr;
    OK(build(kernels(), &module));
    size_t size = 0;
    OK(ze.zeModuleGetNativeBinary(module, &size, nullptr));
    std::vector<uint8_t> binary(size);
    size_t small = size - 1;
    REFUSED(INVALID_SIZE, ze.zeModuleGetNativeBinary(module, &small, binary.data()));
    OK(ze.zeModuleGetNativeBinary(module, &size, binary.data()));
    OK(ze.zeModuleDestroy(module));
    OK(build(binary, &again, nullptr, ZE_MODULE_FORMAT_NATIVE));
    check_names_and_properties(again);
    const auto out = run(again, "specialised");
    CHECK(out[0] == 42 && out[1] == 1000);
    // A module made of a native binary has a native binary again.
    OK(ze.zeModuleGetNativeBinary(again, &size, nullptr));
    OK(ze.zeModuleDestroy(again));

    std::string log;
    for (size_t at = 0; at < binary.size(); at += at < 600 ? 1 : 997) {
        auto damaged = binary;
        damaged[at] ^= uint8_t(1u << (at % 8));
        REFUSED(INVALID_NATIVE_BINARY, build(damaged, &module, &log, ZE_MODULE_FORMAT_NATIVE));
        CHECK(!log.empty());
        if (at > 0) {
            damaged = binary;
            damaged.resize(at);
            REFUSED(INVALID_NATIVE_BINARY, build(damaged, &module, nullptr, ZE_MODULE_FORMAT_NATIVE));
        }
    }
    auto longer = binary;
    longer.push_back(0);
    REFUSED(INVALID_NATIVE_BINARY, build(longer, &module, nullptr, ZE_MODULE_FORMAT_NATIVE));
    REFUSED(INVALID_NATIVE_BINARY, build(kernels(), &module, nullptr, ZE_MODULE_FORMAT_NATIVE));
}

/// The words up to OpMemoryModel, which is what a module has at least.
static size_t words_of_head() {
    const SpirvModule module(kernels());
    size_t words = module.header.size();
    for (const SpirvModule::Words &instruction : module.instructions) {
        words += instruction.size();
        if (op_of(instruction) == spv::OpMemoryModel)
            return words;
    }
    return 0;
}

TEST(bad_spirv) {
    ze_module_handle_t module = nullptr;
    std::string log;
    std::vector<uint8_t> garbage(1000);
    for (size_t i = 0; i < garbage.size(); i++)
        garbage[i] = uint8_t(i * 37 + 11);
    REFUSED(MODULE_BUILD_FAILURE, build(garbage, &module, &log));
    CHECK(log.find("SPIR-V") != std::string::npos);
    REFUSED(MODULE_BUILD_FAILURE, build({1, 2, 3}, &module, &log));
    const size_t head = words_of_head();
    for (size_t words = 1; words < kernels().size() / 4; words++) {
        std::vector<uint8_t> cut(kernels().begin(), kernels().begin() + long(words * 4));
        ze_result_t result = build(cut, &module, &log);
        if (words == head) { // a valid module without kernels
            OK(result);
            OK(ze.zeModuleDestroy(module));
            continue;
        }
        if (result == ZE_RESULT_SUCCESS)
            std::printf("a module cut after %zu of %zu words was built\n", words, kernels().size() / 4);
        CHECK(result == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE && !log.empty());
    }
    std::vector<uint8_t> odd(kernels().begin(), kernels().end() - 1);
    REFUSED(MODULE_BUILD_FAILURE, build(odd, &module, &log));
    auto desc = of_type<ze_module_desc_t>(ZE_STRUCTURE_TYPE_MODULE_DESC);
    desc.format = ZE_MODULE_FORMAT_IL_SPIRV;
    CHECK(ze.zeModuleCreate(context, device, &desc, &module, nullptr) != ZE_RESULT_SUCCESS);
}

TEST(names_and_properties) {
    check_names_and_properties(loaded("kernels.spv"));
}
