// SPDX-License-Identifier: Apache-2.0
#include "module.h"

#include <algorithm>
#include <cstring>

#include "border/border.h"
#include "border/entry_points.h"
#include "build_flags.h"
#include "device/handles.h"
#include "opencl/runtime.h"
#include "pointer_check.h"

namespace ze_cpu {
namespace {

void check_inputs(const ze_module_desc_t &desc, const ze_module_program_exp_desc_t &several) {
    if (desc.format != ZE_MODULE_FORMAT_IL_SPIRV) // a native binary is complete
        throw ZE_RESULT_ERROR_INVALID_ARGUMENT;
    if (several.count == 0)
        throw ZE_RESULT_ERROR_INVALID_SIZE;
    need_pointers(several.inputSizes, several.pInputModules);
}

void check_input(const ze_module_desc_t &desc) {
    need_pointers(desc.pInputModule);
    if (desc.inputSize == 0)
        throw ZE_RESULT_ERROR_INVALID_SIZE;
}

ze_result_t build_il(const ze_module_desc_t &desc, const ze_module_program_exp_desc_t *several,
                     _ze_module_handle_t &module, std::string &log) {
    Unit &unit = *module.unit;
    auto &kernels = module.built->kernels;
    unit.options = translate_flags(desc.pBuildFlags, log);
    if (!several) {
        if (ze_result_t result = read_source(desc.pInputModule, desc.inputSize, desc.pConstants, unit.options,
                                             unit.sources.emplace_back(), kernels, log))
            return result;
    } else {
        for (uint32_t i = 0; i < several->count; i++) {
            const char *flags = several->pBuildFlags ? several->pBuildFlags[i] : nullptr;
            if (ze_result_t result =
                    read_source(several->pInputModules[i], several->inputSizes[i],
                                several->pConstants ? several->pConstants[i] : nullptr,
                                translate_flags(flags, log), unit.sources.emplace_back(), kernels, log))
                return result;
        }
    }
    for (KernelInfo &kernel : kernels)
        kernel.has_group_function = kernel.has_group_function &&
                                    ignores_work_item(unit, std::string(group_function_prefix) + kernel.name);
    return build_unit(unit, !kernels.empty(), module.built->program, log);
}

ze_result_t build_native(const ze_module_desc_t &desc, _ze_module_handle_t &module, std::string &log) {
    NativeModule native;
    std::string error;
    if (!unpack_native(desc.pInputModule, desc.inputSize, native, error)) {
        log += error + "\n";
        return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
    }
    Unit &unit = *module.unit;
    unit.options = native.options;
    unit.unresolved = native.unresolved;
    module.built->kernels = std::move(native.kernels);
    ze_result_t result = ZE_RESULT_SUCCESS;
    std::vector<KernelInfo> ignored; // native.kernels has them already
    for (size_t i = 0; i < native.sources.size() && result == ZE_RESULT_SUCCESS; i++) {
        NativeModule::Input &input = native.sources[i];
        result = read_source(input.words.data(), input.words.size(), nullptr, input.options,
                             unit.sources.emplace_back(), ignored, log);
        unit.sources.back().constants = std::move(input.constants);
    }
    if (result == ZE_RESULT_SUCCESS && native.binary.empty()) {
        result = make_home(unit, log);
    } else if (result == ZE_RESULT_SUCCESS) {
        Program program;
        result = load_program(native.binary, program, log);
        unit.home = module.built->program = std::make_shared<const Program>(std::move(program));
    }
    if (!unit.unresolved.empty())
        log += missing_sentence(unit) + "\n";
    return result == ZE_RESULT_SUCCESS || result == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY ||
                   result == ZE_RESULT_ERROR_UNKNOWN
               ? result
               : ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
}

/// Makes the native binary. If the module has imports, the binary contains the module's inputs but
/// nothing of the modules that it is linked with, so it has to be linked again when it is loaded.
ze_result_t make_native(const _ze_module_handle_t &module, std::vector<uint8_t> &binary) {
    const Unit &unit = *module.unit;
    NativeModule native;
    native.kernels = module.built->kernels;
    native.unresolved = unit.unresolved;
    native.options = unit.options;
    for (const Source &source : unit.sources) {
        const auto *bytes = reinterpret_cast<const uint8_t *>(source.words.data());
        native.sources.push_back(
            {{bytes, bytes + source.words.size() * 4}, source.options, source.constants});
    }
    if (unit.home == module.built->program)
        if (ze_result_t result = binary_of(*unit.home, native.binary))
            return result;
    binary = pack_native(native);
    return ZE_RESULT_SUCCESS;
}

} // namespace

ze_result_t zeModuleCreate(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                           const ze_module_desc_t *desc, ze_module_handle_t *phModule,
                           ze_module_build_log_handle_t *phBuildLog) {
    need_handles(hContext, hDevice);
    need_pointers(desc, phModule);
    if (desc->format != ZE_MODULE_FORMAT_IL_SPIRV && desc->format != ZE_MODULE_FORMAT_NATIVE)
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    const auto *several =
        find_next<const ze_module_program_exp_desc_t>(desc->pNext, ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC);
    several ? check_inputs(*desc, *several) : check_input(*desc);
    auto log = std::make_unique<_ze_module_build_log_handle_t>();
    auto module = std::make_unique<_ze_module_handle_t>();
    module->context = hContext;
    module->built = std::make_shared<BuiltModule>();
    module->unit = std::make_shared<Unit>();
    ze_result_t result = desc->format == ZE_MODULE_FORMAT_IL_SPIRV
                             ? build_il(*desc, several, *module, log->text)
                             : build_native(*desc, *module, log->text);
    module->has_imports = !module->unit->unresolved.empty();
    if (!module->has_imports && !module->unit->exports_anything())
        module->unit->sources.clear(); // no other module can use them
    if (phBuildLog)
        *phBuildLog = log.release();
    if (result == ZE_RESULT_SUCCESS)
        *phModule = module.release();
    return result;
}

ze_result_t zeModuleDestroy(ze_module_handle_t hModule) {
    return destroy(hModule);
}

ze_result_t zeModuleGetKernelNames(ze_module_handle_t hModule, uint32_t *pCount, const char **pNames) {
    need_handles(hModule);
    const auto &kernels = hModule->built->kernels;
    return answer_list(uint32_t(kernels.size()), pCount, pNames,
                       [&](uint32_t i, const char *&name) { name = kernels[i].name.c_str(); });
}

ze_result_t zeModuleGetProperties(ze_module_handle_t hModule, ze_module_properties_t *pModuleProperties) {
    need_handles(hModule);
    need_pointers(pModuleProperties);
    pModuleProperties->flags = hModule->has_imports ? ZE_MODULE_PROPERTY_FLAG_IMPORTS : 0;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeModuleGetDeviceHandle(ze_module_handle_t hModule, ze_device_handle_t *phDevice) {
    need_handles(hModule);
    need_pointers(phDevice);
    *phDevice = the_device();
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeModuleBuildLogDestroy(ze_module_build_log_handle_t hModuleBuildLog) {
    return destroy(hModuleBuildLog);
}

ze_result_t zeModuleBuildLogGetString(ze_module_build_log_handle_t hModuleBuildLog, size_t *pSize,
                                      char *pBuildLog) {
    need_handles(hModuleBuildLog);
    need_pointers(pSize);
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

ze_result_t zeModuleGetNativeBinary(ze_module_handle_t hModule, size_t *pSize, uint8_t *pModuleNativeBinary) {
    need_handles(hModule);
    need_pointers(pSize);
    std::lock_guard lock(hModule->mutex);
    if (hModule->native.empty())
        if (ze_result_t result = make_native(*hModule, hModule->native))
            return result;
    if (pModuleNativeBinary) {
        if (*pSize < hModule->native.size())
            return ZE_RESULT_ERROR_INVALID_SIZE;
        std::memcpy(pModuleNativeBinary, hModule->native.data(), hModule->native.size());
    }
    *pSize = hModule->native.size();
    return ZE_RESULT_SUCCESS;
}

} // namespace ze_cpu
