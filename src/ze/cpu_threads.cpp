// SPDX-License-Identifier: Apache-2.0
#include "ze/cpu_threads.hpp"

#include <charconv>
#include <string>

#include "common/env.hpp"
#include "common/error.hpp"
#include "common/verbose.hpp"
#include "ze/inventory.hpp"

namespace zemm::ze {
namespace {

// A function of libze_cpu.so that is not part of Level Zero.
template <typename Function> Function *own_function(const char *name) {
    absence why;
    const std::vector<found_device> devices = devices_of(zemm_cpu, why);
    if (devices.empty())
        fail(why.status, "%s", why.sentence.c_str());
    const found_device &cpu = devices.front();
    void *function = nullptr;
    if (cpu.fn->zeDriverGetExtensionFunctionAddress(cpu.driver, name, &function) != ZE_RESULT_SUCCESS ||
        !function)
        fail(zemm_unimplemented, "the driver of the CPU device has no %s: it is not zemm's libze_cpu.so",
             name);
    return reinterpret_cast<Function *>(function);
}

} // namespace

void set_cpu_threads(int most) {
    if (most < 0)
        fail(zemm_invalid_arguments, "num_threads is %d, must be 0 (all CPUs) or more", most);
    const ze_result_t result = own_function<ze_result_t(uint32_t)>("zeCpuSetThreadLimit")(uint32_t(most));
    if (result != ZE_RESULT_SUCCESS)
        fail(zemm_unimplemented, "the OpenCL CPU runtime takes no limit of %d threads", most);
}

void warn_of_thread_variable() {
    const std::string value = env("ZEMM_NUM_THREADS");
    uint32_t most = 0;
    const char *const end = value.data() + value.size();
    const auto [rest, failure] = std::from_chars(value.data(), end, most);
    if (!value.empty() && (failure != std::errc() || rest != end || !most))
        verbose::warn_of_variable("ZEMM_NUM_THREADS", "a number from 1 on");
}

int cpu_threads() {
    return int(own_function<uint32_t()>("zeCpuGetThreadLimit")());
}

} // namespace zemm::ze
