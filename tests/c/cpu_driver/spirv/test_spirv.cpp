// SPDX-License-Identifier: Apache-2.0
// The driver has to build exactly those modules that the OpenCL runtime builds: those of ordinary/,
// and some that differ in one word that a reader may be too strict about.
#include "ze_test.h"

#include <filesystem>
#include <functional>

#include <dlfcn.h>
#include <link.h>

#include "spirv_edit.h"

using Code = std::vector<uint8_t>;

// ---- the OpenCL runtime, without the driver

constexpr uint64_t cpu = 1 << 1;

static int note_path(dl_phdr_info *info, size_t, void *path) {
    if (std::strstr(info->dlpi_name, "libintelocl.so"))
        *static_cast<std::string *>(path) = info->dlpi_name;
    return 0;
}

/// The library that the driver has loaded.
static void *library() {
    static void *handle = [] {
        std::string path;
        dl_iterate_phdr(note_path, &path);
        void *found = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
        if (path.empty() || !found) {
            std::printf("the driver has not loaded libintelocl.so\n");
            std::exit(1);
        }
        return found;
    }();
    return handle;
}

template <class Result, class... Arguments> static Result call(const char *name, Arguments... arguments) {
    return reinterpret_cast<Result (*)(Arguments...)>(dlsym(library(), name))(arguments...);
}

/// Whether the runtime that the driver has loaded builds the module.
static bool opencl_builds(const std::vector<uint8_t> &code) {
    static void *platform = nullptr, *device = nullptr, *context = nullptr;
    int status = 0;
    if (!context) {
        call<int>("clGetPlatformIDs", 1u, &platform, static_cast<unsigned *>(nullptr));
        call<int>("clGetDeviceIDs", platform, cpu, 1u, &device, static_cast<unsigned *>(nullptr));
        context = call<void *>("clCreateContext", static_cast<const intptr_t *>(nullptr), 1u, &device,
                               static_cast<void *>(nullptr), static_cast<void *>(nullptr), &status);
    }
    void *program = call<void *>("clCreateProgramWithIL", context, static_cast<const void *>(code.data()),
                                 code.size(), &status);
    if (!program)
        return false;
    status = call<int>("clBuildProgram", program, 1u, &device, "", static_cast<void *>(nullptr),
                       static_cast<void *>(nullptr));
    call<int>("clReleaseProgram", program);
    return status == 0;
}

// ---- tests

static ze_module_handle_t build(const Code &code, std::string &log) {
    ze_module_handle_t module = nullptr;
    return build(code, &module, &log) == ZE_RESULT_SUCCESS ? module : nullptr;
}

/// Whether the runtime builds the module. The driver must do the same.
static bool built_by_both(const Code &code, const std::string &what) {
    std::string log;
    const bool expected = opencl_builds(code);
    ze_module_handle_t module = build(code, log);
    if (expected != (module != nullptr))
        std::printf("%s: the OpenCL runtime %s it; the driver says: %s\n", what.c_str(),
                    expected ? "builds" : "refuses", log.c_str());
    CHECK(expected == (module != nullptr));
    if (module)
        OK(ze.zeModuleDestroy(module));
    return expected;
}

TEST(ordinary) {
    int count = 0, built = 0, reversed = 0;
    const std::string folder = std::string(std::getenv("ZE_CPU_TEST_DIR")) + "/spirv/ordinary";
    for (const auto &file : std::filesystem::directory_iterator(folder)) {
        if (file.path().extension() != ".spv")
            continue;
        const std::string name = "spirv/ordinary/" + file.path().filename().string();
        count++;
        if (built_by_both(read_file(name), name))
            built++;
        else
            reversed += name.starts_with("spirv/ordinary/reversed.");
    }
    std::printf("%d of %d ordinary modules are built\n", built, count);
    // The runtime refuses what llvm-spirv-15 makes of reversed.cl, in all three ways, and builds what newer
    // ones make of it.
    CHECK(count >= 80 && built + reversed == count && (reversed == 0 || reversed == 3));
}

static const Code &plain() {
    static const Code code = read_file("spirv/ordinary/arithmetic.plain.spv");
    return code;
}

static bool changed(const std::string &what, const std::function<void(SpirvModule &)> &change) {
    SpirvModule module(plain());
    change(module);
    return built_by_both(module.bytes(), what);
}

TEST(capabilities) {
    auto with = [](uint32_t capability) {
        return changed("capability " + std::to_string(capability),
                       [&](SpirvModule &m) { m.insert_first(spv::OpCapability, {capability}); });
    };
    CHECK(with(spv::CapabilityArbitraryPrecisionIntegersINTEL)); // without its extension
    for (uint32_t capability : {0u, 1u, 4464u, 4465u, 4466u, 4467u, 4468u, 100000u})
        with(capability);
}

TEST(headers) {
    for (uint32_t minor = 0; minor < 9; minor++)
        changed("version 1." + std::to_string(minor),
                [&](SpirvModule &m) { m.header[1] = 0x10000 | minor << 8; });
    for (uint32_t bound : {100000u, 0x3fffffu, UINT32_MAX})
        CHECK(changed("bound " + std::to_string(bound), [&](SpirvModule &m) { m.header[3] = bound; }));
}

/// The runtime ends the process for languages that it does not know, so the driver refuses these.
TEST(languages) {
    for (uint32_t language : {0u, 3u, 4u, 6u, 1u, 7u, 12u, 4096u}) {
        SpirvModule module(plain());
        for (auto &instruction : module.instructions)
            if (op_of(instruction) == spv::OpSource)
                instruction[1] = language;
        std::string log;
        if (language == 0 || language == 3 || language == 4 || language == 6)
            CHECK(built_by_both(module.bytes(), "language " + std::to_string(language)));
        else
            CHECK(!build(module.bytes(), log) && log.find("SPIR-V") != std::string::npos);
    }
}

/// A module with a kernel that does nothing. `types` adds types with ids from 20 on, and
/// `arguments` are the ids of those that the kernel's parameters have.
static SpirvModule module_around(const std::function<void(SpirvModule &)> &types,
                                 SpirvModule::Words arguments, const SpirvModule::Words &annotation = {}) {
    SpirvModule m;
    for (uint32_t capability :
         {spv::CapabilityAddresses, spv::CapabilityLinkage, spv::CapabilityKernel, spv::CapabilityInt64})
        m.add(spv::OpCapability, {capability});
    m.add(spv::OpMemoryModel, {spv::AddressingModelPhysical64, spv::MemoryModelOpenCL});
    m.add(spv::OpEntryPoint, with_text({spv::ExecutionModelKernel, 1}, "kernel_of_test"));
    if (!annotation.empty())
        m.add(spv::OpDecorate, annotation);
    m.add(spv::OpTypeVoid, {2});
    m.add(spv::OpTypeInt, {3, 32, 0});
    types(m);
    SpirvModule::Words signature{4, 2};
    signature.insert(signature.end(), arguments.begin(), arguments.end());
    m.add(spv::OpTypeFunction, signature);
    m.add(spv::OpFunction, {2, 1, 0, 4});
    for (uint32_t n = 0; n < arguments.size(); n++)
        m.add(spv::OpFunctionParameter, {arguments[n], 5 + n});
    m.add(spv::OpLabel, {19});
    m.add(spv::OpReturn);
    m.add(spv::OpFunctionEnd);
    return m;
}

static ze_result_t create_kernel(const SpirvModule &code, std::string &log) {
    ze_module_handle_t module = build(code.bytes(), log);
    if (!module)
        std::printf("%s\n", log.c_str());
    CHECK(module);
    ze_kernel_desc_t desc{ZE_STRUCTURE_TYPE_KERNEL_DESC, nullptr, 0, "kernel_of_test"};
    ze_kernel_handle_t kernel = nullptr;
    const ze_result_t result = ze.zeKernelCreate(module, &desc, &kernel);
    if (result == ZE_RESULT_SUCCESS)
        OK(ze.zeKernelDestroy(kernel));
    OK(ze.zeModuleDestroy(module));
    return result;
}

/// Structures by value with members that are not bytes are refused. A pointer type that is
/// announced before its definition is a member like any other.
TEST(opaque_members) {
    const SpirvModule::Words by_value{5, spv::DecorationFuncParamAttr, spv::FunctionParameterAttributeByVal};
    auto with_member = [&](const std::function<void(SpirvModule &)> &member) {
        return module_around(
            [&](SpirvModule &m) {
                member(m); // 20
                m.add(spv::OpTypeStruct, {21, 3, 20});
                m.add(spv::OpTypePointer, {22, spv::StorageClassFunction, 21});
            },
            {22}, by_value);
    };
    std::string log;
    auto sampler = [](SpirvModule &m) { m.add(spv::OpTypeSampler, {20}); };
    auto event = [](SpirvModule &m) { m.add(spv::OpTypeEvent, {20}); };
    auto image = [](SpirvModule &m) {
        m.add(spv::OpTypeImage, {20, 2, spv::Dim2D, 0, 0, 0, 0, spv::ImageFormatUnknown});
    };
    for (const std::function<void(SpirvModule &)> &member :
         {std::function<void(SpirvModule &)>(sampler), {event}, {image}}) {
        REFUSED(UNSUPPORTED_FEATURE, create_kernel(with_member(member), log));
        CHECK(log.find("kernel kernel_of_test cannot be created: argument 0") != std::string::npos);
    }
    auto link = [](SpirvModule &m) {
        m.add(spv::OpTypeForwardPointer, {20, spv::StorageClassCrossWorkgroup});
        m.add(spv::OpTypeStruct, {21, 3, 20});
        m.add(spv::OpTypePointer, {20, spv::StorageClassCrossWorkgroup, 21});
        m.add(spv::OpTypePointer, {22, spv::StorageClassFunction, 21});
    };
    OK(create_kernel(module_around(link, {22}, by_value), log));
    CHECK(log.find("cannot be created") == std::string::npos);
}

/// Instructions that came into SPIR-V's core after version 1.0.
TEST(newer_opcodes) {
    SpirvModule m = module_around(
        [](SpirvModule &types) {
            types.add(spv::OpTypePointer, {20, spv::StorageClassCrossWorkgroup, 3});
            types.add(spv::OpTypeBool, {21});
        },
        {20, 20}, with_text({5, spv::DecorationUserSemantic}, "text"));
    for (size_t n = 0; n < m.instructions.size(); n++) {
        if (op_of(m.instructions[n]) == spv::OpDecorate)
            m.instructions[n] =
                SpirvModule::made(spv::OpDecorateString, with_text({5, spv::DecorationUserSemantic}, "text"));
        if (op_of(m.instructions[n]) == spv::OpReturn) {
            m.instructions.insert(m.instructions.begin() + long(n),
                                  SpirvModule::made(spv::OpPtrEqual, {21, 30, 5, 6}));
            break;
        }
    }
    built_by_both(m.bytes(), "OpDecorateString and OpPtrEqual");
}
