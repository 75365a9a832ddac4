// SPDX-License-Identifier: Apache-2.0
#include "ze/module.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "common/error.hpp"
#include "ze/module_cache.hpp"

namespace zemm::ze {
namespace {

// The build log, which is destroyed with it; "" if there is none.
std::string take_log(const api &fn, ze_module_build_log_handle_t log) {
    std::string sentence;
    size_t size = 0;
    if (log && fn.zeModuleBuildLogGetString(log, &size, nullptr) == ZE_RESULT_SUCCESS && size) {
        sentence.resize(size);
        if (fn.zeModuleBuildLogGetString(log, &size, sentence.data()) != ZE_RESULT_SUCCESS)
            sentence.clear();
    }
    if (log)
        fn.zeModuleBuildLogDestroy(log);
    // One line, as the messages of the library are.
    std::string line;
    for (const char c : sentence.substr(0, sentence.find('\0'))) {
        if (c != '\n' && c != '\r')
            line += c;
        else if (!line.empty() && !line.ends_with("; "))
            line += "; ";
    }
    if (line.ends_with("; "))
        line.resize(line.size() - 2);
    return line;
}

// Intel's compiler ends the process when it meets something else than SPIR-V.
bool looks_like_spirv(std::span<const uint8_t> words) {
    constexpr size_t header = 5 * sizeof(uint32_t);
    uint32_t magic = 0;
    if (words.size() < header || words.size() % sizeof(uint32_t))
        return false;
    std::memcpy(&magic, words.data(), sizeof magic);
    return magic == 0x07230203;
}

} // namespace

built_module::built_module(const device &dev, const spirv &binary,
                           const std::vector<spec_constant> &constants, const char *flags)
    : fn(dev.fn) {
    if (!looks_like_spirv(binary.words))
        fail(zemm_runtime_error, "%s (%zu bytes) is no SPIR-V module", binary.name, binary.words.size());
    std::vector<uint32_t> ids;
    std::vector<const void *> values;
    for (const spec_constant &c : constants) {
        ids.push_back(c.id);
        values.push_back(&c.value);
    }
    ze_module_constants_t specialization = {static_cast<uint32_t>(ids.size()), ids.data(), values.data()};
    ze_module_desc_t desc = {};
    desc.stype = ZE_STRUCTURE_TYPE_MODULE_DESC;
    desc.format = ZE_MODULE_FORMAT_IL_SPIRV;
    desc.inputSize = binary.words.size();
    desc.pInputModule = binary.words.data();
    desc.pBuildFlags = flags;
    desc.pConstants = ids.empty() ? nullptr : &specialization;
    ze_module_build_log_handle_t log = nullptr;
    const ze_result_t result = fn.zeModuleCreate(dev.context, dev.handle, &desc, &handle, &log);
    const std::string sentence = take_log(fn, log);
    if (result != ZE_RESULT_SUCCESS)
        fail(zemm_runtime_error,
             "building %s (%zu bytes, flags \"%s\") for device \"%s\": zeModuleCreate returned %s%s%s",
             binary.name, binary.words.size(), flags, dev.name.c_str(), result_text(result),
             sentence.empty() ? "" : ", build log: ", sentence.c_str());
}

built_module::~built_module() {
    if (handle)
        fn.zeModuleDestroy(handle);
}

kernel::~kernel() {
    if (handle)
        module_->fn.zeKernelDestroy(handle);
}

std::shared_ptr<kernel> get_kernel(std::shared_ptr<device> dev, const spirv &binary, const char *entry,
                                   std::vector<spec_constant> constants, const char *flags) {
    std::ranges::sort(constants, {}, &spec_constant::id); // one key whatever the order
    // The cache lives in the device and its kernels must not keep the device alive; those that are handed out
    // do.
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

} // namespace zemm::ze
