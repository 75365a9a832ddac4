// SPDX-License-Identifier: Apache-2.0
//
// Launches of kernels.
#include "kernel.h"

#include <algorithm>
#include <cstring>

#include "border/refusal.h"
#include "opencl/runtime.h"
#include "opencl/thread_limit.h"
#include "spirv/spirv_linkage.h"
#include "stack/large_stack.h"
#include "stream/crew.h"

namespace ze_cpu {

KernelObject::KernelObject(std::shared_ptr<BuiltModule> module, const KernelInfo &info, OwnedKernel kernel)
    : module_(std::move(module)), info_(info), kernel_(std::move(kernel)) {
    size_t at = 0;
    for (const ArgInfo &arg : info_.args) {
        offsets_.push_back(at);
        size_t size = arg.kind == ArgKind::value ? arg.size : 8; // local memory: its size
        at += (size + 7) / 8 * 8;
    }
    offsets_.push_back(at);
    applied_.bytes.resize(at);
    applied_.is_set.resize(info_.args.size());
    if (info_.has_group_function)
        group_function_ = reinterpret_cast<GroupFunction>(
            function_in(*module_->program, std::string(group_function_prefix) + info_.name));
    cl::Ulong size = 0; // read before arguments are set: OpenCL adds local ones
    if (opencl().clGetKernelWorkGroupInfo(get(), runtime().device, cl::kernel_local_mem_size, sizeof size,
                                          &size, nullptr) == cl::success)
        local_variables_ = size_t(size);
}

size_t KernelObject::local_size(const ArgValues &values) const {
    size_t sum = local_variables_;
    for (size_t n = 0; n < info_.args.size(); n++) {
        if (info_.args[n].kind != ArgKind::local)
            continue;
        uint64_t size;
        std::memcpy(&size, values.bytes.data() + offsets_[n], sizeof size);
        if (__builtin_add_overflow(sum, size_t(size), &sum))
            return SIZE_MAX;
    }
    return sum;
}

cl::Int KernelObject::apply(size_t n, const uint8_t *value) {
    const cl::Api &api = opencl();
    const ArgInfo &arg = info_.args[n];
    if (arg.kind == ArgKind::value)
        return api.clSetKernelArg(get(), cl::Uint(n), arg.size, value);
    if (arg.kind == ArgKind::image || arg.kind == ArgKind::sampler)
        return api.clSetKernelArg(get(), cl::Uint(n), sizeof(void *), value);
    uint64_t word;
    std::memcpy(&word, value, sizeof word);
    if (arg.kind == ArgKind::local)
        return api.clSetKernelArg(get(), cl::Uint(n), std::max(size_t(word), size_t(1)), nullptr);
    return api.clSetKernelArgMemPointerINTEL(get(), cl::Uint(n), reinterpret_cast<const void *>(word));
}

cl::Int KernelObject::launch(cl::Queue queue, const ArgValues &values, const std::array<size_t, 3> &offset,
                             const std::array<size_t, 3> &global, const std::array<size_t, 3> &local,
                             cl::Uint wait_count, const cl::Event *waits, cl::Event *event) {
    std::lock_guard lock(mutex_);
    for (size_t n = 0; n < info_.args.size(); n++) {
        const uint8_t *value = values.bytes.data() + offsets_[n];
        uint8_t *held = applied_.bytes.data() + offsets_[n];
        // OpenCL reuses the handles of destroyed images and samplers, so equal handles may mean
        // other objects.
        const bool is_plain = info_.args[n].kind != ArgKind::image && info_.args[n].kind != ArgKind::sampler;
        if (is_plain && applied_.is_set[n] && std::memcmp(held, value, stored_size(n)) == 0)
            continue;
        applied_.is_set[n] = 0;
        if (cl::Int status = apply(n, value); status != cl::success)
            return status;
        std::memcpy(held, value, stored_size(n));
        applied_.is_set[n] = 1;
    }
    const bool has_offset = offset[0] || offset[1] || offset[2];
    return opencl().clEnqueueNDRangeKernel(queue, get(), 3, has_offset ? offset.data() : nullptr,
                                           global.data(), local.data(), wait_count, waits, event);
}

namespace {

/// The work-groups of a launch, the first dimension innermost.
class Groups final : public Job {
public:
    Groups(KernelObject &kernel, const void *arguments, const std::array<size_t, 3> &counts)
        : Job(counts[0] * counts[1] * counts[2], kernel.group_ns), function_(kernel.group_function()),
          arguments_(arguments), counts_(counts) {}

    void run(size_t begin, size_t count) noexcept override {
        while (count > 0) {
            const size_t x = begin % counts_[0], row = begin / counts_[0];
            const size_t neighbours = std::min(count, counts_[0] - x);
            function_(arguments_, long(x), long(row % counts_[1]), long(row / counts_[1]), long(neighbours));
            begin += neighbours;
            count -= neighbours;
        }
    }

private:
    const KernelObject::GroupFunction function_;
    const void *const arguments_;
    const std::array<size_t, 3> counts_;
};

class LaunchCommand final : public Command {
public:
    LaunchCommand(ze_kernel_handle_t kernel, const ze_group_count_t &groups)
        : kernel_(kernel->object), args_(kernel->args) {
        for (int i = 0; i < 3; i++) {
            local_[i] = kernel->group_size[i];
            offset_[i] = kernel->global_offset[i];
        }
        set_groups(groups);
    }

    cl::Int enqueue(cl::Queue queue, cl::Uint wait_count, const cl::Event *waits, cl::Event *event) override {
        if (global_[0] == 0 || global_[1] == 0 || global_[2] == 0) // no groups: only the events count
            return opencl().clEnqueueMarkerWithWaitList(queue, wait_count, waits, event);
        return kernel_->launch(queue, args_, offset_, global_, local_, wait_count, waits, event);
    }

    bool run_with_help(const Threadpool *pool) override {
        const auto function = kernel_->group_function();
        const auto [x, y, z] = counts();
        if (!function || local_ != std::array<size_t, 3>{1, 1, 1} || offset_ != std::array<size_t, 3>{} ||
            x * y * z == 0)
            return false;
        Groups job(*kernel_, args_.bytes.data(), counts());
        const uint64_t start = timestamp_now();
        const bool is_done = stack::with_large(
            [&] {
                if (pool ? pool->run(job) : crew::run(job))
                    return true;
                if (is_for_one_thread())
                    job.run(0, job.items);
                return is_for_one_thread();
            },
            [](const std::string &problem) { throw refuse(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, problem); });
        if (is_done && signal)
            signal->set_by_host(start, timestamp_now());
        return is_done;
    }

    bool is_for_one_thread() const override {
        constexpr size_t few = 16; // work-groups
        const auto [x, y, z] = counts();
        const size_t groups = x * y * z;
        return groups != 0 && (groups <= few || thread_limit() == 1);
    }

    void set_groups(const ze_group_count_t &groups) {
        global_ = {size_t(groups.groupCountX) * local_[0], size_t(groups.groupCountY) * local_[1],
                   size_t(groups.groupCountZ) * local_[2]};
    }

private:
    std::array<size_t, 3> counts() const { // of groups
        return {global_[0] / local_[0], global_[1] / local_[1], global_[2] / local_[2]};
    }

    std::shared_ptr<KernelObject> kernel_;
    ArgValues args_;
    std::array<size_t, 3> offset_{}, global_{}, local_{};
};

/// Launches whose group counts are read after everything before them has finished. Each execution
/// makes its own launches, because a list may run on several queues at once.
class IndirectLaunch final : public Step {
public:
    IndirectLaunch(std::vector<LaunchCommand> launches, const uint32_t *number,
                   const ze_group_count_t *groups)
        : launches_(std::move(launches)), number_(number), groups_(groups) {}
    std::vector<CommandPtr> run() override {
        const size_t number = number_ ? std::min<size_t>(*number_, launches_.size()) : launches_.size();
        std::vector<CommandPtr> commands;
        for (size_t i = 0; i < number; i++) {
            auto launch = std::make_shared<LaunchCommand>(launches_[i]);
            launch->set_groups(groups_[i]);
            commands.push_back(std::move(launch));
        }
        if (number == 0)
            commands.push_back(std::make_shared<MarkerCommand>());
        commands.back()->signal = signal;
        return commands;
    }

private:
    const std::vector<LaunchCommand> launches_;
    const uint32_t *const number_; // null: all
    const ze_group_count_t *const groups_;
};

void check_ready(const _ze_kernel_handle_t &kernel) {
    if (kernel.object->local_size(kernel.args) > runtime().info.local_size)
        throw ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
    for (uint8_t set : kernel.args.is_set)
        if (!set)
            throw ZE_RESULT_ERROR_INVALID_ARGUMENT; // an argument was never set
}

} // namespace

CommandPtr make_launch(ze_kernel_handle_t kernel, const ze_group_count_t &groups) {
    check_ready(*kernel);
    return std::make_shared<LaunchCommand>(kernel, groups);
}

CommandPtr make_indirect_launch(const ze_kernel_handle_t *kernels, uint32_t count, const uint32_t *number,
                                const ze_group_count_t *groups) {
    std::vector<LaunchCommand> launches;
    for (uint32_t i = 0; i < count; i++) {
        check_ready(*kernels[i]);
        launches.emplace_back(kernels[i], ze_group_count_t{0, 0, 0});
    }
    return std::make_shared<IndirectLaunch>(std::move(launches), number, groups);
}

} // namespace ze_cpu
