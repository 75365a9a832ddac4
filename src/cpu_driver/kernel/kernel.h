// SPDX-License-Identifier: Apache-2.0
//
// Kernels, the values of their arguments, and their launches.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <level_zero/ze_api.h>

#include "module/module.h"
#include "opencl/runtime.h"
#include "stream/command.h"

namespace ze_cpu {

/// The values of all arguments, one after the other. A launch copies them, so later changes to the
/// kernel do not affect it.
struct ArgValues {
    std::vector<uint8_t> bytes;
    std::vector<uint8_t> is_set;                   // per argument
    std::vector<std::shared_ptr<const void>> kept; // images and samplers by argument, or empty
};

struct ReleaseKernel {
    void operator()(cl::Kernel kernel) const { opencl().clReleaseKernel(kernel); }
};
using OwnedKernel = std::unique_ptr<std::remove_pointer_t<cl::Kernel>, ReleaseKernel>;

/// An OpenCL kernel. OpenCL keeps the values of arguments in the kernel object, so `mutex_` makes
/// setting them and enqueueing one step. `applied_` holds the values that the object has, so that
/// only changed ones are set again.
class KernelObject {
public:
    KernelObject(std::shared_ptr<BuiltModule> module, const KernelInfo &info, OwnedKernel kernel);

    const KernelInfo &info() const { return info_; }
    const BuiltModule *module() const { return module_.get(); }
    cl::Kernel get() const { return kernel_.get(); }
    size_t offset(size_t arg) const { return offsets_[arg]; }
    size_t stored_size(size_t arg) const { return offsets_[arg + 1] - offsets_[arg]; }
    size_t total_size() const { return offsets_.back(); }
    size_t max_group_size() const;
    size_t local_size(const ArgValues &values) const; // bytes of its local variables and arguments

    cl::Int launch(cl::Queue queue, const ArgValues &values, const std::array<size_t, 3> &offset,
                   const std::array<size_t, 3> &global, const std::array<size_t, 3> &local,
                   cl::Uint wait_count, const cl::Event *waits, cl::Event *event);

    /// Computes a work-group on the calling thread (spirv/spirv_linkage.h); null: the kernel has no such
    /// function.
    using GroupFunction = void (*)(const void *arguments, long x, long y, long z, long count);
    GroupFunction group_function() const { return group_function_; }
    std::atomic<float> group_ns{0}; // that a work-group takes, about; 0: not known

private:
    cl::Int apply(size_t arg, const uint8_t *value);

    std::shared_ptr<BuiltModule> module_;
    const KernelInfo &info_; // in module_
    OwnedKernel kernel_;
    GroupFunction group_function_ = nullptr;
    size_t local_variables_ = 0;  // bytes
    std::vector<size_t> offsets_; // of each argument in ArgValues::bytes, and the end
    std::mutex mutex_;
    ArgValues applied_;
};

} // namespace ze_cpu

struct _ze_kernel_handle_t {
    ze_module_handle_t module = nullptr; // by the specification it outlives the kernel
    std::shared_ptr<ze_cpu::KernelObject> object;
    ze_cpu::ArgValues args;
    std::array<uint32_t, 3> group_size{1, 1, 1};
    std::array<uint32_t, 3> global_offset{0, 0, 0};
    ze_kernel_indirect_access_flags_t indirect_access = 0;
};

namespace ze_cpu {

/// Makes a launch with a copy of the kernel's state. Throws ze_result_t if an argument was never set
/// or the kernel needs too much local memory.
CommandPtr make_launch(ze_kernel_handle_t kernel, const ze_group_count_t &groups);

/// Makes launches of `count` kernels. Their group counts are read from memory when their turn
/// comes. So is the number of kernels to launch, unless `number` is null.
CommandPtr make_indirect_launch(const ze_kernel_handle_t *kernels, uint32_t count, const uint32_t *number,
                                const ze_group_count_t *groups);

} // namespace ze_cpu
