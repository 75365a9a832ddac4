// SPDX-License-Identifier: Apache-2.0
// Finds or builds modules and kernels, and remembers those that the driver failed to build.
#include "ze/module_cache.hpp"

#include <algorithm>

#include "common/error.hpp"
#include "ze/cache_folder.hpp"

namespace zemm::ze {
namespace {

// A key that is equal for equal modules. It has the name and a 64-bit hash of the SPIR-V.
std::string key_of(const spirv &binary, const std::vector<spec_constant> &constants, const char *flags) {
    std::string key = text("%s|%s|%s", binary.name, binary.hash, flags);
    for (const spec_constant &c : constants)
        key += text("|%u=%u", c.id, c.value);
    return key;
}

ze_result_t new_kernel(const built_module &module, const char *entry, owned_kernel &kernel) {
    auto desc = structure<ze_kernel_desc_t>(ZE_STRUCTURE_TYPE_KERNEL_DESC);
    desc.pKernelName = entry;
    ze_kernel_handle_t created = nullptr;
    const ze_result_t result = module.fn.zeKernelCreate(module.handle(), &desc, &created);
    if (result == ZE_RESULT_SUCCESS)
        kernel = {module.fn, created};
    return result;
}

} // namespace

std::shared_ptr<module_cache::slot> module_cache::find_or_add(const std::string &key) {
    std::lock_guard hold(lock_);
    if (const std::shared_ptr<slot> *found = slots_.find(key))
        return *found;
    const std::shared_ptr<slot> added = slots_.add(key, std::make_shared<slot>());
    slots_.shrink(capacity_);
    return added;
}

void module_cache::throw_if_failed(const std::string &kernel_key) {
    if (!has_failures_)
        return;
    std::lock_guard hold(lock_);
    if (const auto found = failures_.find(kernel_key); found != failures_.end())
        throw found->second;
}

std::string module_cache::failure(const spirv &binary, const char *entry,
                                  const std::vector<spec_constant> &constants, const char *flags) {
    if (!has_failures_)
        return "";
    const std::string key = key_of(binary, constants, flags) + entry;
    std::lock_guard hold(lock_);
    const auto found = failures_.find(key);
    return found == failures_.end() ? "" : found->second.reason();
}

std::shared_ptr<kernel> module_cache::get(const device &dev, const spirv &binary, const char *entry,
                                          const std::vector<spec_constant> &constants, const char *flags) {
    const std::string key = key_of(binary, constants, flags);
    throw_if_failed(key + entry);
    const std::shared_ptr<slot> s = find_or_add(key);
    std::lock_guard hold(s->lock);
    throw_if_failed(key + entry); // another thread may have tried while this one waited
    try {
        return build(*s, dev, binary, entry, constants, flags);
    } catch (const build_error &e) {
        std::lock_guard hold_list(lock_);
        if (failures_.size() == capacity_)
            failures_.clear();
        failures_.emplace(key + entry, e);
        has_failures_ = true;
        throw;
    }
}

void module_cache::add(const device &dev, const spirv &binary, const std::vector<spec_constant> &constants,
                       const char *flags, std::span<const uint8_t> native) {
    const std::shared_ptr<slot> s = find_or_add(key_of(binary, constants, flags));
    const std::lock_guard hold(s->lock);
    if (!s->built)
        s->built = std::make_shared<built_module>(dev, native, flags);
}

// The caller holds the slot's lock.
std::shared_ptr<kernel> module_cache::build(slot &s, const device &dev, const spirv &binary,
                                            const char *entry, const std::vector<spec_constant> &constants,
                                            const char *flags) {
    bool build_now = !s.built;
    if (build_now)
        s.built = std::make_shared<built_module>(dev, binary, constants, flags);
    std::shared_ptr<kernel> &k = s.kernels[entry];
    if (!k) {
        std::shared_ptr<kernel> fresh(new kernel);
        ze_result_t result = new_kernel(*s.built, entry, fresh->handle_);
        if (s.built->from_disk && is_fault_of_module(result)) {
            // The checksum was right, so the binary was stored under a wrong key. Build from
            // SPIR-V.
            warn_of_cache(text("a binary of %s that was kept on disk has no usable kernel %s (zeKernelCreate "
                               "returned %s), the module is built",
                               binary.name, entry, result_text(result)));
            s.built =
                std::make_shared<built_module>(dev, binary, constants, flags, built_module::origin::spirv);
            build_now = true;
            result = new_kernel(*s.built, entry, fresh->handle_);
        }
        if (result != ZE_RESULT_SUCCESS)
            fail_build(binary, s.built->log, result,
                       text("kernel %s of %s on device \"%s\": zeKernelCreate", entry, binary.name,
                            dev.name.c_str()));
        fresh->module_ = s.built;
        check(dev.fn.zeKernelSetIndirectAccess(fresh->handle(), ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST |
                                                                    ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE |
                                                                    ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED),
              "zeKernelSetIndirectAccess");
        k = std::move(fresh);
    }
    k->built_now = build_now;
    return k;
}

std::shared_ptr<kernel> get_kernel(std::shared_ptr<device> dev, const spirv &binary, const char *entry,
                                   std::vector<spec_constant> constants, const char *flags) {
    std::ranges::sort(constants, {}, &spec_constant::id); // their order must not change the key
    // The device owns the cache, so kernels in the cache must not keep the device alive: that would
    // be a cycle. Kernels that are handed out must, so they share a pair of both.
    struct use {
        std::shared_ptr<device> dev;
        std::shared_ptr<kernel> k;
    };
    auto held = std::make_shared<use>();
    held->k = dev->modules->get(*dev, binary, entry, constants, flags ? flags : "");
    held->dev = std::move(dev);
    kernel *k = held->k.get();
    return {std::move(held), k};
}

void add_native_module(const device &dev, const spirv &binary, std::vector<spec_constant> constants,
                       const char *flags, std::span<const uint8_t> native) {
    std::ranges::sort(constants, {}, &spec_constant::id);
    dev.modules->add(dev, binary, constants, flags ? flags : "", native);
}

bool has_build_failures(const device &dev) {
    return dev.modules->has_failures();
}

std::string build_failure(const device &dev, const spirv &binary, const char *entry,
                          std::vector<spec_constant> constants, const char *flags) {
    std::ranges::sort(constants, {}, &spec_constant::id);
    return dev.modules->failure(binary, entry, constants, flags ? flags : "");
}

} // namespace zemm::ze
