// SPDX-License-Identifier: Apache-2.0
#include "module.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include "border.h"
#include "builtins.h"
#include "entry_points.h"
#include "runtime.h"

namespace ze_cpu {

Program &Program::operator=(Program &&other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
}

Program::~Program() {
    if (handle_)
        opencl().clReleaseProgram(handle_);
}

namespace {

/// One IL input: ze_module_desc_t has one, ze_module_program_exp_desc_t several that are linked.
struct Input {
    const uint8_t *data;
    size_t size;
    const char *flags;
    const ze_module_constants_t *constants;
};

/// What the inputs of a module need of each other and of the driver.
struct Linkage {
    std::vector<ImportedFunction> imports;
    std::set<std::string> exports;
};

void append_log(cl::Program program, std::string &log) {
    size_t size = 0;
    const cl::Api &api = opencl();
    if (!program || api.clGetProgramBuildInfo(program, runtime().device, cl::program_build_log, 0, nullptr,
                                              &size) != cl::success)
        return;
    std::string text(size, '\0');
    if (api.clGetProgramBuildInfo(program, runtime().device, cl::program_build_log, size, text.data(),
                                  nullptr) == cl::success)
        log += text.c_str();
}

bool set_constants(cl::Program program, const Input &input, const SpirvInfo &info, std::string &log) {
    if (!input.constants)
        return true;
    const ze_module_constants_t &c = *input.constants;
    if (c.numConstants && (!c.pConstantIds || !c.pConstantValues)) {
        log += "specialisation constants without ids or values\n";
        return false;
    }
    for (uint32_t i = 0; i < c.numConstants; i++) {
        auto size = info.constant_sizes.find(c.pConstantIds[i]);
        // Not an error: the same constants may be given to several modules, and translators drop unused ones.
        if (size == info.constant_sizes.end()) {
            log += "the module has no specialisation constant " + std::to_string(c.pConstantIds[i]) + "\n";
            continue;
        }
        cl::Int status = c.pConstantValues[i]
                             ? opencl().clSetProgramSpecializationConstant(program, c.pConstantIds[i],
                                                                           size->second, c.pConstantValues[i])
                             : -1;
        if (status != cl::success) {
            log += "specialisation constant " + std::to_string(c.pConstantIds[i]) +
                   " was refused (OpenCL error " + std::to_string(status) + ")\n";
            return false;
        }
    }
    return true;
}

ze_result_t create_from_il(const Input &input, BuiltModule &module, Program &program, Linkage &linkage,
                           std::string &log) {
    SpirvInfo info;
    std::string error;
    if (!read_spirv(input.data, input.size, info, error)) {
        log += error + "\n";
        return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
    }
    log += opaque_arguments(info);
    cl::Int status = cl::success;
    program = Program(opencl().clCreateProgramWithIL(runtime().context, input.data, input.size, &status));
    if (!program.get()) {
        log += "the OpenCL runtime refuses the SPIR-V (error " + std::to_string(status) + ")\n";
        return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
    }
    if (!set_constants(program.get(), input, info, log))
        return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
    std::move(info.kernels.begin(), info.kernels.end(), std::back_inserter(module.kernels));
    std::move(info.imports.begin(), info.imports.end(), std::back_inserter(linkage.imports));
    linkage.exports.merge(info.exports);
    return ZE_RESULT_SUCCESS;
}

ze_result_t compile(cl::Program program, const std::string &options, std::string &log) {
    cl::Device device = runtime().device;
    cl::Int status = opencl().clCompileProgram(program, 1, &device, options.c_str(), 0, nullptr, nullptr,
                                               nullptr, nullptr);
    append_log(program, log);
    return status == cl::success ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
}

/// Compiles each text once in the process. Programs stay until its end, when the runtime may be gone before
/// us.
cl::Program compiled_builtins(const std::string &text, std::string &log) {
    static std::mutex mutex;
    static auto &programs = *new std::map<std::string, cl::Program>;
    std::lock_guard lock(mutex);
    cl::Program &program = programs[text];
    if (program)
        return program;
    const char *data = text.data();
    const size_t size = text.size();
    cl::Int status = cl::success;
    Program made(opencl().clCreateProgramWithSource(runtime().context, 1, &data, &size, &status));
    if (!made.get() || compile(made.get(), "-cl-std=CL3.0", log) != ZE_RESULT_SUCCESS) {
        log += "the OpenCL runtime cannot compile the software versions of the imported builtins\n";
        return nullptr;
    }
    return program = made.release();
}

/// The compiled software versions of what is imported; null if nothing of that is.
ze_result_t builtins_for(const Linkage &linkage, cl::Program &program, std::string &log) {
    std::vector<ImportedFunction> wanted;
    for (const ImportedFunction &import : linkage.imports)
        if (!linkage.exports.count(import.name))
            wanted.push_back(import);
    std::string text, error;
    if (!compose_builtins(wanted, text, error)) {
        log += error + "\n";
        return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
    }
    program = text.empty() ? nullptr : compiled_builtins(text, log);
    return text.empty() || program ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
}

/// Says in plain words which imports the runtime complains of.
ze_result_t name_missing(const Linkage &linkage, ze_result_t result, std::string &log) {
    std::string names;
    for (const ImportedFunction &import : linkage.imports)
        if (log.find(import.name) != std::string::npos && names.find(import.name) == std::string::npos)
            names += (names.empty() ? "" : ", ") + import.name;
    if (!names.empty())
        log += "the module imports " + names + ", which neither the OpenCL runtime nor this driver has\n";
    return result;
}

ze_result_t build(Program program, const std::string &options, BuiltModule &module, std::string &log) {
    cl::Device device = runtime().device;
    cl::Int status = opencl().clBuildProgram(program.get(), 1, &device, options.c_str(), nullptr, nullptr);
    append_log(program.get(), log);
    module.program = std::move(program);
    if (status == cl::success)
        return ZE_RESULT_SUCCESS;
    log += "\nthe OpenCL runtime cannot build the module (error " + std::to_string(status) + ")\n";
    return status == cl::out_of_host_memory ? ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY
                                            : ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
}

ze_result_t link(const std::vector<cl::Program> &programs, const std::string &options, BuiltModule &module,
                 std::string &log) {
    cl::Device device = runtime().device;
    cl::Int status = cl::success;
    const std::string for_link = link_options(options);
    Program linked(opencl().clLinkProgram(runtime().context, 1, &device, for_link.c_str(),
                                          cl::Uint(programs.size()), programs.data(), nullptr, nullptr,
                                          &status));
    append_log(linked.get(), log);
    module.program = std::move(linked);
    return status == cl::success && module.program.get() ? ZE_RESULT_SUCCESS
                                                         : ZE_RESULT_ERROR_MODULE_LINK_FAILURE;
}

ze_result_t build_linked(const std::vector<Input> &inputs, const std::string &options, BuiltModule &module,
                         std::string &log) {
    std::vector<Program> programs;
    std::vector<cl::Program> handles;
    Linkage linkage;
    for (const Input &input : inputs) {
        Program program;
        if (ze_result_t result = create_from_il(input, module, program, linkage, log);
            result != ZE_RESULT_SUCCESS)
            return result;
        if (ze_result_t result = compile(program.get(), translate_flags(input.flags, log), log);
            result != ZE_RESULT_SUCCESS)
            return result;
        handles.push_back(program.get());
        programs.push_back(std::move(program));
    }
    cl::Program builtins = nullptr;
    if (ze_result_t result = builtins_for(linkage, builtins, log); result != ZE_RESULT_SUCCESS)
        return result;
    if (builtins)
        handles.push_back(builtins);
    ze_result_t result = link(handles, options, module, log);
    return result == ZE_RESULT_SUCCESS ? result : name_missing(linkage, result, log);
}

ze_result_t build_native(const ze_module_desc_t &desc, BuiltModule &module, std::string &log) {
    std::vector<uint8_t> binary;
    if (!unpack_native(desc.pInputModule, desc.inputSize, module.kernels, binary, log))
        return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
    cl::Device device = runtime().device;
    const size_t size = binary.size();
    const unsigned char *data = binary.data();
    cl::Int of_binary = cl::success, status = cl::success;
    Program program(
        opencl().clCreateProgramWithBinary(runtime().context, 1, &device, &size, &data, &of_binary, &status));
    if (!program.get() || of_binary != cl::success) {
        log += "the OpenCL runtime refuses the binary (error " + std::to_string(status) + ")\n";
        return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
    }
    return build(std::move(program), "", module, log) == ZE_RESULT_SUCCESS
               ? ZE_RESULT_SUCCESS
               : ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
}

ze_result_t build_il(const ze_module_desc_t &desc, BuiltModule &module, std::string &log) {
    std::string options = translate_flags(desc.pBuildFlags, log);
    for (auto *next = static_cast<const ze_base_desc_t *>(desc.pNext); next;
         next = static_cast<const ze_base_desc_t *>(next->pNext)) {
        if (next->stype != ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC)
            continue;
        auto &several = *reinterpret_cast<const ze_module_program_exp_desc_t *>(next);
        if (several.count && (!several.inputSizes || !several.pInputModules))
            return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
        std::vector<Input> inputs;
        for (uint32_t i = 0; i < several.count; i++)
            inputs.push_back({several.pInputModules[i], several.inputSizes[i],
                              several.pBuildFlags ? several.pBuildFlags[i] : nullptr,
                              several.pConstants ? several.pConstants[i] : nullptr});
        return build_linked(inputs, options, module, log);
    }
    ZE_CPU_NEED_POINTER(desc.pInputModule);
    if (desc.inputSize == 0)
        return ZE_RESULT_ERROR_INVALID_SIZE;
    Program program;
    const Input input{desc.pInputModule, desc.inputSize, nullptr, desc.pConstants};
    Linkage linkage;
    if (ze_result_t result = create_from_il(input, module, program, linkage, log);
        result != ZE_RESULT_SUCCESS)
        return result;
    cl::Program builtins = nullptr;
    if (ze_result_t result = builtins_for(linkage, builtins, log); result != ZE_RESULT_SUCCESS)
        return result;
    ze_result_t result = ZE_RESULT_SUCCESS;
    if (!builtins)
        result = build(std::move(program), options, module, log);
    else if (result = compile(program.get(), options, log); result == ZE_RESULT_SUCCESS)
        result = link({program.get(), builtins}, options, module, log);
    return result == ZE_RESULT_SUCCESS ? result : name_missing(linkage, result, log);
}

} // namespace

ze_result_t zeModuleCreate(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                           const ze_module_desc_t *desc, ze_module_handle_t *phModule,
                           ze_module_build_log_handle_t *phBuildLog) {
    ZE_CPU_NEED_HANDLE(hContext);
    ZE_CPU_NEED_HANDLE(hDevice);
    ZE_CPU_NEED_POINTER(desc);
    ZE_CPU_NEED_POINTER(phModule);
    if (desc->format != ZE_MODULE_FORMAT_IL_SPIRV && desc->format != ZE_MODULE_FORMAT_NATIVE)
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    return guarded([&]() -> ze_result_t {
        auto log = std::make_unique<_ze_module_build_log_handle_t>();
        auto module = std::make_unique<_ze_module_handle_t>();
        module->context = hContext;
        module->built = std::make_shared<BuiltModule>();
        ze_result_t result = ZE_RESULT_SUCCESS;
        if (desc->format == ZE_MODULE_FORMAT_IL_SPIRV) {
            result = build_il(*desc, *module->built, log->text);
        } else {
            ZE_CPU_NEED_POINTER(desc->pInputModule);
            if (desc->inputSize == 0)
                return ZE_RESULT_ERROR_INVALID_SIZE;
            result = build_native(*desc, *module->built, log->text);
        }
        if (phBuildLog)
            *phBuildLog = log.release();
        if (result == ZE_RESULT_SUCCESS)
            *phModule = module.release();
        return result;
    });
}

ze_result_t zeModuleDestroy(ze_module_handle_t hModule) {
    ZE_CPU_NEED_HANDLE(hModule);
    delete hModule;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeModuleGetNativeBinary(ze_module_handle_t hModule, size_t *pSize, uint8_t *pModuleNativeBinary) {
    ZE_CPU_NEED_HANDLE(hModule);
    ZE_CPU_NEED_POINTER(pSize);
    return guarded([&]() -> ze_result_t {
        std::lock_guard lock(hModule->native_mutex);
        if (hModule->native.empty()) {
            const cl::Api &api = opencl();
            cl::Program program = hModule->built->program.get();
            size_t size = 0;
            cl::Int status =
                api.clGetProgramInfo(program, cl::program_binary_sizes, sizeof size, &size, nullptr);
            if (status != cl::success || size == 0)
                return ZE_RESULT_ERROR_UNKNOWN;
            std::vector<uint8_t> binary(size);
            unsigned char *to = binary.data();
            status = api.clGetProgramInfo(program, cl::program_binaries, sizeof to, &to, nullptr);
            if (status != cl::success)
                return from_opencl(status);
            hModule->native = pack_native(*hModule->built, binary);
        }
        if (pModuleNativeBinary) {
            if (*pSize < hModule->native.size())
                return ZE_RESULT_ERROR_INVALID_SIZE;
            std::memcpy(pModuleNativeBinary, hModule->native.data(), hModule->native.size());
        }
        *pSize = hModule->native.size();
        return ZE_RESULT_SUCCESS;
    });
}

ze_result_t zeModuleGetKernelNames(ze_module_handle_t hModule, uint32_t *pCount, const char **pNames) {
    ZE_CPU_NEED_HANDLE(hModule);
    const auto &kernels = hModule->built->kernels;
    return answer_list(uint32_t(kernels.size()), pCount, pNames,
                       [&](uint32_t i, const char *&name) { name = kernels[i].name.c_str(); });
}

ze_result_t zeModuleGetProperties(ze_module_handle_t hModule, ze_module_properties_t *pModuleProperties) {
    ZE_CPU_NEED_HANDLE(hModule);
    ZE_CPU_NEED_POINTER(pModuleProperties);
    pModuleProperties->flags = 0; // imports are resolved when a module is built
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeModuleBuildLogDestroy(ze_module_build_log_handle_t hModuleBuildLog) {
    ZE_CPU_NEED_HANDLE(hModuleBuildLog);
    delete hModuleBuildLog;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeModuleBuildLogGetString(ze_module_build_log_handle_t hModuleBuildLog, size_t *pSize,
                                      char *pBuildLog) {
    ZE_CPU_NEED_HANDLE(hModuleBuildLog);
    ZE_CPU_NEED_POINTER(pSize);
    const std::string &text = hModuleBuildLog->text;
    if (pBuildLog) {
        size_t size = std::min(*pSize, text.size() + 1);
        if (size) {
            std::memcpy(pBuildLog, text.c_str(), size);
            pBuildLog[size - 1] = '\0';
        }
    }
    *pSize = text.size() + 1;
    return ZE_RESULT_SUCCESS;
}

} // namespace ze_cpu
