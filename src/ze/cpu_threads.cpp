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

lent_threads::lent_threads(const zemm_threadpool_t &pool)
    : set_(own_function<void(const zemm_threadpool_t *)>("zeCpuSetThreadpool")) {
    set_(&pool);
}

lent_threads::~lent_threads() {
    set_(nullptr);
}

void warn_of_thread_variables() {
    const auto check = [](const char *name, uint32_t least, uint32_t most, const char *what) {
        const std::string text = env(name);
        uint32_t value = 0;
        const char *const end = text.data() + text.size();
        const auto [rest, failure] = std::from_chars(text.data(), end, value);
        if (!text.empty() && (failure != std::errc() || rest != end || value < least || value > most))
            verbose::warn_of_variable(name, what);
    };
    check("ZEMM_NUM_THREADS", 1, UINT32_MAX, "a number from 1 on");
    check("ZEMM_SPIN_US", 0, 1000, "a number from 0 to 1000");
}

int cpu_threads() {
    return int(own_function<uint32_t()>("zeCpuGetThreadLimit")());
}

} // namespace zemm::ze
