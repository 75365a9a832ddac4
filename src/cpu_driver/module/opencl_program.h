// SPDX-License-Identifier: Apache-2.0
//
// OpenCL programs: they are made of SPIR-V, compiled, built and linked. All functions append the
// runtime's messages to `log`.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <level_zero/ze_api.h>

#include "opencl/opencl_api.h"
#include "spirv/spirv.h"

namespace ze_cpu {

/// Owns an OpenCL program.
class Program {
public:
    Program() = default;
    explicit Program(cl::Program handle) : handle_(handle) {}
    Program(Program &&other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
    Program &operator=(Program &&other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Program();
    cl::Program get() const { return handle_; }
    cl::Program release() { return std::exchange(handle_, nullptr); }

private:
    cl::Program handle_ = nullptr;
};

/// Values of specialisation constants by their SpecId.
using Constants = std::map<uint32_t, std::vector<uint8_t>>;

ze_result_t create_program(const std::vector<uint32_t> &words, const Constants &constants, Program &program,
                           std::string &log);
ze_result_t build_program(const Program &program, const std::string &options, std::string &log);

/// Load a program from OpenCL's binary, and get the binary of a program.
ze_result_t load_program(const std::vector<uint8_t> &binary, Program &program, std::string &log);
ze_result_t binary_of(const Program &program, std::vector<uint8_t> &binary);

/// Compiled programs that are to be linked.
class ProgramParts {
public:
    bool empty() const { return handles_.empty(); }

    /// Compiles a module and adds it.
    ze_result_t add(const std::vector<uint32_t> &words, const Constants &constants,
                    const std::string &options, std::string &log);

    /// Adds the software versions of those imports for which this driver has one.
    ze_result_t add_builtins(const std::vector<ImportedFunction> &imports, std::string &log);

    ze_result_t link(const std::string &options, Program &program, std::string &log) const;

private:
    std::vector<Program> owned_;
    std::vector<cl::Program> handles_;
};

/// The names of the missing symbols that the OpenCL runtime's log reports.
std::vector<std::string> missing_symbols(const std::string &log);

/// The address of a variable, or of a function that is called by pointer. Null if the built program
/// has none of that name.
void *variable_in(const Program &program, const std::string &name, size_t *size = nullptr);
void *function_in(const Program &program, const std::string &name);

} // namespace ze_cpu
