// SPDX-License-Identifier: Apache-2.0
#include "opencl_program.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <sstream>

#include "build_flags.h"
#include "builtins/builtins.h"
#include "opencl/runtime.h"
#include "process/room.h"

namespace ze_cpu {
namespace {

/// Whether a line of the runtime's log only tells of progress or vectorisation.
bool is_chatter(const std::string &line) {
    constexpr const char *beginnings[] = {
        "Compilation started", "Compilation done",  "Linking started",
        "Linking done",        "Device build ",     "Options used by backend compiler:",
        "Reload Program",      "remark: <unknown>", "Done.",
        "Kernel \"",
    };
    // A kernel says by vec_type_hint that it is not to be vectorized over work-items.
    if (line.find("unsupported vec type hint") != std::string::npos)
        return true;
    return line.empty() || std::any_of(std::begin(beginnings), std::end(beginnings),
                                       [&](const char *begin) { return line.rfind(begin, 0) == 0; });
}

void append_build_log(cl::Program program, std::string &log) {
    size_t size = 0;
    const cl::Api &api = opencl();
    if (!program || api.clGetProgramBuildInfo(program, runtime().device, cl::program_build_log, 0, nullptr,
                                              &size) != cl::success)
        return;
    std::string text(size, '\0');
    if (api.clGetProgramBuildInfo(program, runtime().device, cl::program_build_log, size, text.data(),
                                  nullptr) != cl::success)
        return;
    std::istringstream lines(text.c_str());
    for (std::string line; std::getline(lines, line);)
        if (!is_chatter(line))
            log += line + "\n";
}

ze_result_t build_error(cl::Int status, ze_result_t otherwise) {
    return status == cl::out_of_host_memory ? ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY : otherwise;
}

/// Refuses what the runtime would not survive.
ze_result_t need_room(bool is_built, std::string &log) {
    if (const std::string problem = lack_for_build(is_built); !problem.empty()) {
        log += problem + "\n";
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    if (const std::string problem = lack_of_code(); !problem.empty()) {
        log += problem + "\n";
        return ZE_RESULT_ERROR_UNKNOWN; // not a fault of the module
    }
    return ZE_RESULT_SUCCESS;
}

ze_result_t compile_program(const Program &program, const std::string &options, std::string &log) {
    if (ze_result_t result = need_room(false, log))
        return result;
    cl::Device device = runtime().device;
    const cl::Int status = opencl().clCompileProgram(program.get(), 1, &device, options.c_str(), 0, nullptr,
                                                     nullptr, nullptr, nullptr);
    append_build_log(program.get(), log);
    return status == cl::success ? ZE_RESULT_SUCCESS
                                 : build_error(status, ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
}

/// Compiles each text once in the process. The programs are never released, because at process exit
/// the runtime may be gone before this library.
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
    if (need_room(false, log) != ZE_RESULT_SUCCESS)
        return nullptr;
    Program made(opencl().clCreateProgramWithSource(runtime().context, 1, &data, &size, &status));
    if (!made.get() || compile_program(made, "-cl-std=CL3.0", log) != ZE_RESULT_SUCCESS) {
        log += "the OpenCL runtime cannot compile the software versions of the imported builtins\n";
        return nullptr;
    }
    return program = made.release();
}

} // namespace

Program::~Program() {
    if (handle_)
        opencl().clReleaseProgram(handle_);
}

ze_result_t create_program(const std::vector<uint32_t> &words, const Constants &constants, Program &program,
                           std::string &log) {
    if (ze_result_t result = need_room(false, log))
        return result;
    cl::Int status = cl::success;
    program =
        Program(opencl().clCreateProgramWithIL(runtime().context, words.data(), words.size() * 4, &status));
    if (!program.get()) {
        log += "the OpenCL runtime refuses the SPIR-V (error " + std::to_string(status) + ")\n";
        return build_error(status, ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
    }
    for (const auto &[id, value] : constants) {
        status = opencl().clSetProgramSpecializationConstant(program.get(), id, value.size(), value.data());
        if (status != cl::success) {
            log += "specialisation constant " + std::to_string(id) + " was refused (OpenCL error " +
                   std::to_string(status) + ")\n";
            return build_error(status, ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
        }
    }
    return ZE_RESULT_SUCCESS;
}

ze_result_t build_program(const Program &program, const std::string &options, std::string &log) {
    cl::Device device = runtime().device;
    const cl::Int status =
        opencl().clBuildProgram(program.get(), 1, &device, options.c_str(), nullptr, nullptr);
    append_build_log(program.get(), log);
    if (status == cl::success)
        return ZE_RESULT_SUCCESS;
    log += "the OpenCL runtime cannot build the module (error " + std::to_string(status) + ")\n";
    return build_error(status, ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
}

ze_result_t load_program(const std::vector<uint8_t> &binary, Program &program, std::string &log) {
    if (ze_result_t result = need_room(true, log))
        return result;
    cl::Device device = runtime().device;
    const size_t size = binary.size();
    const unsigned char *data = binary.data();
    cl::Int of_binary = cl::success, status = cl::success;
    program = Program(
        opencl().clCreateProgramWithBinary(runtime().context, 1, &device, &size, &data, &of_binary, &status));
    if (status == cl::success)
        status = of_binary;
    if (!program.get() || status != cl::success) {
        log += "the OpenCL runtime refuses the binary (error " + std::to_string(status) + ")\n";
        return build_error(status, ZE_RESULT_ERROR_INVALID_NATIVE_BINARY);
    }
    return build_program(program, "", log);
}

ze_result_t binary_of(const Program &program, std::vector<uint8_t> &binary) {
    const cl::Api &api = opencl();
    size_t size = 0;
    cl::Int status =
        api.clGetProgramInfo(program.get(), cl::program_binary_sizes, sizeof size, &size, nullptr);
    if (status != cl::success || size == 0)
        return ZE_RESULT_ERROR_UNKNOWN;
    binary.resize(size);
    unsigned char *to = binary.data();
    status = api.clGetProgramInfo(program.get(), cl::program_binaries, sizeof to, &to, nullptr);
    return from_opencl(status);
}

ze_result_t ProgramParts::add(const std::vector<uint32_t> &words, const Constants &constants,
                              const std::string &options, std::string &log) {
    Program program;
    ze_result_t result = create_program(words, constants, program, log);
    if (result == ZE_RESULT_SUCCESS)
        result = compile_program(program, options, log);
    if (result == ZE_RESULT_SUCCESS) {
        handles_.push_back(program.get());
        owned_.push_back(std::move(program));
    }
    return result;
}

ze_result_t ProgramParts::add_builtins(const std::vector<ImportedFunction> &imports, std::string &log) {
    std::string text, error;
    if (!compose_builtins(imports, text, error)) {
        log += error + "\n";
        return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
    }
    if (text.empty())
        return ZE_RESULT_SUCCESS;
    cl::Program program = compiled_builtins(text, log);
    if (!program)
        return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
    handles_.push_back(program);
    return ZE_RESULT_SUCCESS;
}

ze_result_t ProgramParts::link(const std::string &options, Program &program, std::string &log) const {
    if (ze_result_t result = need_room(false, log))
        return result;
    cl::Device device = runtime().device;
    cl::Int status = cl::success;
    const std::string for_link = link_options(options);
    Program linked(opencl().clLinkProgram(runtime().context, 1, &device, for_link.c_str(),
                                          cl::Uint(handles_.size()), handles_.data(), nullptr, nullptr,
                                          &status));
    append_build_log(linked.get(), log);
    if (status != cl::success || !linked.get())
        return build_error(status, ZE_RESULT_ERROR_MODULE_LINK_FAILURE);
    program = std::move(linked);
    return ZE_RESULT_SUCCESS;
}

std::vector<std::string> missing_symbols(const std::string &log) {
    std::vector<std::string> names;
    const std::string before = "Symbols not found: [";
    for (size_t at = log.find(before); at != std::string::npos; at = log.find(before, at)) {
        at += before.size();
        std::istringstream list(log.substr(at, log.find(']', at) - at));
        for (std::string name; list >> name;) {
            if (name.back() == ',')
                name.pop_back();
            names.push_back(name);
        }
    }
    return names;
}

void *variable_in(const Program &program, const std::string &name, size_t *size) {
    size_t bytes = 0;
    void *address = nullptr;
    if (!program.get() || opencl().clGetDeviceGlobalVariablePointerINTEL(
                              runtime().device, program.get(), name.c_str(), &bytes, &address) != cl::success)
        return nullptr;
    if (size)
        *size = bytes;
    return address;
}

void *function_in(const Program &program, const std::string &name) {
    cl::Ulong address = 0;
    if (opencl().clGetDeviceFunctionPointerINTEL(runtime().device, program.get(), name.c_str(), &address) !=
        cl::success)
        return nullptr;
    return reinterpret_cast<void *>(address);
}

} // namespace ze_cpu
