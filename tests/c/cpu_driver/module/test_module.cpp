// SPDX-License-Identifier: Apache-2.0
//
// Modules: specialisation constants, logs, native binaries, several inputs linked, bad input.
#include "ze_test.h"

#include <algorithm>

#include "spirv_edit.h"

static void run_one(ze_module_handle_t module, const char *name, int *out) {
    const auto kernel = make_kernel(module, name);
    const auto list = immediate_list(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    set_arg(kernel, 0, out);
    launch(list, kernel, 1, 1);
}

static void constants(const std::vector<uint8_t> &code) {
    const auto out = shared<int>(8);
    Owned<ze_module_handle_t> module;
    OK(build(code, &module));
    run_one(module, "specialised", out);
    CHECK(out[0] == 42 && out[1] == 1000);
    module.end();
    const int seven = 77, nine = 99, unknown = 1;
    const uint32_t ids[] = {9, 12345, 7};
    const void *values[] = {&nine, &unknown, &seven};
    ze_module_constants_t c{3, ids, values};
    std::string log;
    OK(build(code, &module, &log, ZE_MODULE_FORMAT_IL_SPIRV, nullptr, &c));
    CHECK(log.find("12345") != std::string::npos);
    run_one(module, "specialised", out);
    CHECK(out[0] == 77 && out[1] == 99);
}

static void flags(const std::vector<uint8_t> &code) {
    ze_module_handle_t module = nullptr;
    std::string log;
    for (const char *flags :
         {"-ze-opt-disable", "-ze-opt-level=0", "-ze-opt-level 2 -g", "-ze-opt-disable,-g",
          "-cl-fast-relaxed-math", "-ze-opt-large-register-file", "-ze-no-such-flag", ""}) {
        OK(build(code, &module, &log, ZE_MODULE_FORMAT_IL_SPIRV, flags));
        OK(ze.zeModuleDestroy(module));
        // The log of a successful build is empty, unless a flag is unknown.
        const bool is_unknown = std::string(flags) == "-ze-no-such-flag";
        CHECK(is_unknown ? log.find("-ze-no-such-flag") != std::string::npos : log.empty());
    }
    CHECK_RESULT(build(code, &module, &log, ZE_MODULE_FORMAT_IL_SPIRV, "-cl-no-such-option"),
                 ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
    CHECK(!log.empty());
}

static void names_and_properties(ze_module_handle_t module) {
    uint32_t count = 0;
    OK(ze.zeModuleGetKernelNames(module, &count, nullptr));
    CHECK(count == 12);
    std::vector<const char *> names(count);
    OK(ze.zeModuleGetKernelNames(module, &count, names.data()));
    CHECK(
        std::any_of(names.begin(), names.end(), [](const char *n) { return std::string(n) == "local_sum"; }));
    ze_module_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_MODULE_PROPERTIES;
    OK(ze.zeModuleGetProperties(module, &properties));
    CHECK(properties.flags == 0);
    ze_kernel_desc_t desc{ZE_STRUCTURE_TYPE_KERNEL_DESC, nullptr, 0, "no_such_kernel"};
    ze_kernel_handle_t kernel = nullptr;
    CHECK_RESULT(ze.zeKernelCreate(module, &desc, &kernel), ZE_RESULT_ERROR_INVALID_KERNEL_NAME);
    CHECK_RESULT(ze.zeKernelCreate(module, nullptr, &kernel), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
}

static void native(const std::vector<uint8_t> &code) {
    ze_module_handle_t module = nullptr, again = nullptr;
    OK(build(code, &module));
    size_t size = 0;
    OK(ze.zeModuleGetNativeBinary(module, &size, nullptr));
    std::vector<uint8_t> binary(size);
    size_t small = size - 1;
    CHECK_RESULT(ze.zeModuleGetNativeBinary(module, &small, binary.data()), ZE_RESULT_ERROR_INVALID_SIZE);
    OK(ze.zeModuleGetNativeBinary(module, &size, binary.data()));
    OK(ze.zeModuleDestroy(module));
    OK(build(binary, &again, nullptr, ZE_MODULE_FORMAT_NATIVE));
    names_and_properties(again);
    const auto out = shared<int>(8);
    run_one(again, "specialised", out);
    CHECK(out[0] == 42 && out[1] == 1000);
    // A module made of a native binary has a native binary again.
    OK(ze.zeModuleGetNativeBinary(again, &size, nullptr));
    OK(ze.zeModuleDestroy(again));

    const auto invalid = ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
    std::string log;
    for (size_t at = 0; at < binary.size(); at += at < 600 ? 1 : 997) {
        auto damaged = binary;
        damaged[at] ^= uint8_t(1u << (at % 8));
        CHECK_RESULT(build(damaged, &module, &log, ZE_MODULE_FORMAT_NATIVE), invalid);
        CHECK(!log.empty());
        if (at > 0) {
            damaged = binary;
            damaged.resize(at);
            CHECK_RESULT(build(damaged, &module, nullptr, ZE_MODULE_FORMAT_NATIVE), invalid);
        }
    }
    auto longer = binary;
    longer.push_back(0);
    CHECK_RESULT(build(longer, &module, nullptr, ZE_MODULE_FORMAT_NATIVE), invalid);
    CHECK_RESULT(build(code, &module, nullptr, ZE_MODULE_FORMAT_NATIVE), invalid);
}

/// The words up to OpMemoryModel, which is what a module has at least.
static size_t words_of_head(const std::vector<uint8_t> &code) {
    const SpirvModule module(code);
    size_t words = module.header.size();
    for (const SpirvModule::Words &instruction : module.instructions) {
        words += instruction.size();
        if (op_of(instruction) == spv::OpMemoryModel)
            return words;
    }
    return 0;
}

static void bad_spirv(const std::vector<uint8_t> &code) {
    const auto failure = ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
    ze_module_handle_t module = nullptr;
    std::string log;
    std::vector<uint8_t> garbage(1000);
    for (size_t i = 0; i < garbage.size(); i++)
        garbage[i] = uint8_t(i * 37 + 11);
    CHECK_RESULT(build(garbage, &module, &log), failure);
    CHECK(log.find("SPIR-V") != std::string::npos);
    CHECK_RESULT(build({1, 2, 3}, &module, &log), failure);
    const size_t head = words_of_head(code);
    for (size_t words = 1; words < code.size() / 4; words++) {
        std::vector<uint8_t> cut(code.begin(), code.begin() + long(words * 4));
        ze_result_t result = build(cut, &module, &log);
        if (words == head) { // a valid module without kernels
            OK(result);
            OK(ze.zeModuleDestroy(module));
            continue;
        }
        if (result == ZE_RESULT_SUCCESS)
            std::printf("a module cut after %zu of %zu words was built\n", words, code.size() / 4);
        CHECK(result == failure && !log.empty());
    }
    std::vector<uint8_t> odd(code.begin(), code.end() - 1);
    CHECK_RESULT(build(odd, &module, &log), failure);
    ze_module_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_MODULE_DESC;
    desc.format = ZE_MODULE_FORMAT_IL_SPIRV;
    CHECK(ze.zeModuleCreate(context, device, &desc, &module, nullptr) != ZE_RESULT_SUCCESS);
}

static void linked() {
    auto library = read_file("library.spv"), importer = read_file("importer.spv");
    const size_t sizes[] = {library.size(), importer.size()};
    const uint8_t *inputs[] = {library.data(), importer.data()};
    ze_module_program_exp_desc_t program{};
    program.stype = ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC;
    program.count = 2;
    program.inputSizes = sizes;
    program.pInputModules = inputs;
    ze_module_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_MODULE_DESC;
    desc.pNext = &program;
    desc.format = ZE_MODULE_FORMAT_IL_SPIRV;
    desc.inputSize = library.size(); // layers check these, drivers ignore them
    desc.pInputModule = library.data();
    Owned<ze_module_handle_t> module;
    OK(ze.zeModuleCreate(context, device, &desc, &module, nullptr));
    const auto out = shared<int>(4);
    out[0] = 5;
    run_one(module, "use_imported", out);
    CHECK(out[0] == 16);
}

int main(int argc, char **argv) {
    open_driver(argc, argv);
    auto code = read_file("kernels.spv");
    constants(code);
    flags(code);
    const auto module = load_module("kernels.spv");
    names_and_properties(module);
    native(code);
    bad_spirv(code);
    linked();
    std::puts("ok");
}
