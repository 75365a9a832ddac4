// SPDX-License-Identifier: Apache-2.0
// Builds modules from SPIR-V, or loads their native binaries from the disk cache.
#include "ze/module.hpp"

#include <cstring>
#include <string>

#include "common/error.hpp"
#include "common/verbose.hpp"
#include "ze/cache_folder.hpp"
#include "ze/disk_cache.hpp"

namespace zemm::ze {
namespace {

// The build log as one line, its lines separated by "; ". "" if there is none.
std::string text_of(const api &fn, const owned_build_log &log) {
    std::string sentence;
    size_t size = 0;
    if (log && fn.zeModuleBuildLogGetString(log.get(), &size, nullptr) == ZE_RESULT_SUCCESS && size) {
        sentence.resize(size);
        if (fn.zeModuleBuildLogGetString(log.get(), &size, sentence.data()) != ZE_RESULT_SUCCESS)
            sentence.clear();
    }
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

// Checks size and magic number, because Intel's compiler ends the process if its input is not
// SPIR-V.
bool looks_like_spirv(std::span<const uint8_t> words) {
    constexpr size_t header = 5 * sizeof(uint32_t);
    uint32_t magic = 0;
    if (words.size() < header || words.size() % sizeof(uint32_t))
        return false;
    std::memcpy(&magic, words.data(), sizeof magic);
    return magic == 0x07230203;
}

} // namespace

bool is_fault_of_module(ze_result_t result) {
    switch (result) {
    case ZE_RESULT_ERROR_MODULE_BUILD_FAILURE:
    case ZE_RESULT_ERROR_MODULE_LINK_FAILURE:
    case ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED: // of Intel's driver for an unknown builtin
    case ZE_RESULT_ERROR_INVALID_NATIVE_BINARY:
    case ZE_RESULT_ERROR_UNSUPPORTED_FEATURE:
    case ZE_RESULT_ERROR_INVALID_ARGUMENT:
    case ZE_RESULT_ERROR_INVALID_KERNEL_NAME:
    case ZE_RESULT_ERROR_INVALID_FUNCTION_NAME:
    case ZE_RESULT_ERROR_UNKNOWN:
        return true;
    default:
        return false;
    }
}

void fail_build(const spirv &binary, const std::string &log, ze_result_t result, const std::string &call) {
    std::string message = call + " returned " + result_text(result);
    if (!log.empty())
        message += ", build log: " + log;
    if (!is_fault_of_module(result))
        throw error(is_out_of_memory(result) ? zemm_out_of_memory : zemm_runtime_error, std::move(message));
    const std::string first_line = log.substr(0, log.find("; "));
    throw build_error(binary, std::move(message), first_line.empty() ? result_text(result) : first_line);
}

ze_result_t built_module::create(const device &dev, ze_module_desc_t desc, std::string &log) {
    desc.stype = ZE_STRUCTURE_TYPE_MODULE_DESC;
    ze_module_handle_t created = nullptr;
    ze_module_build_log_handle_t created_log = nullptr;
    const ze_result_t result = fn.zeModuleCreate(dev.context, dev.handle, &desc, &created, &created_log);
    const owned_build_log log_handle(fn, created_log);
    if (result == ZE_RESULT_SUCCESS)
        handle_ = {fn, created};
    log = text_of(fn, log_handle);
    return result;
}

ze_result_t built_module::create(const device &dev, std::span<const uint8_t> native, const char *flags,
                                 std::string &log) {
    ze_module_desc_t desc = {};
    desc.format = ZE_MODULE_FORMAT_NATIVE;
    desc.inputSize = native.size();
    desc.pInputModule = native.data();
    desc.pBuildFlags = flags;
    return create(dev, desc, log);
}

bool built_module::load(const device &dev, const std::string &key, const char *flags) {
    const auto binary = disk_cache::load(key);
    if (!binary)
        return false;
    std::string log;
    const ze_result_t result = create(dev, *binary, flags, log);
    if (result != ZE_RESULT_SUCCESS)
        warn_of_cache(text("the driver of \"%s\" refuses a binary that was kept on disk (%s%s%s), the module "
                           "is built",
                           dev.name.c_str(), result_text(result), log.empty() ? "" : ", ", log.c_str()));
    return result == ZE_RESULT_SUCCESS;
}

std::vector<uint8_t> built_module::native_binary() const {
    size_t size = 0;
    std::vector<uint8_t> binary;
    ze_result_t result = fn.zeModuleGetNativeBinary(handle(), &size, nullptr);
    if (result == ZE_RESULT_SUCCESS && size) {
        binary.resize(size);
        result = fn.zeModuleGetNativeBinary(handle(), &size, binary.data());
    }
    if (result != ZE_RESULT_SUCCESS || !size || size > binary.size())
        fail(is_out_of_memory(result) ? zemm_out_of_memory : zemm_runtime_error,
             "zeModuleGetNativeBinary returned %s, %zu bytes", result_text(result), size);
    binary.resize(size);
    return binary;
}

void built_module::store(const std::string &key) const {
    try {
        disk_cache::store(key, native_binary());
    } catch (const error &e) { // the module itself is usable
        warn_of_cache(text("a built module cannot be kept on disk: %s", e.what()));
    }
}

built_module::built_module(const device &dev, std::span<const uint8_t> native, const char *flags)
    : fn(dev.fn), from_disk(true) {
    std::string why;
    const ze_result_t result = create(dev, native, flags, why);
    if (result == ZE_RESULT_SUCCESS)
        return;
    const zemm_status_t status = is_fault_of_module(result) ? zemm_invalid_arguments
                                 : is_out_of_memory(result) ? zemm_out_of_memory
                                                            : zemm_runtime_error;
    fail(status, "the driver of \"%s\" refuses the native binary of a module: zeModuleCreate returned %s%s%s",
         dev.name.c_str(), result_text(result), why.empty() ? "" : ", ", why.c_str());
}

built_module::built_module(const device &dev, const spirv &binary,
                           const std::vector<spec_constant> &constants, const char *flags, origin from)
    : fn(dev.fn) {
    if (!looks_like_spirv(binary.words))
        fail(zemm_runtime_error, "%s (%zu bytes) is no SPIR-V module", binary.name, binary.words.size());
    const std::string key =
        disk_cache::enabled() ? disk_cache::key_of(dev, binary, constants, flags) : std::string();
    if (from == origin::anywhere && !key.empty() && load(dev, key, flags)) {
        from_disk = true;
        return;
    }
    std::vector<uint32_t> ids;
    std::vector<const void *> values;
    for (const spec_constant &c : constants) {
        ids.push_back(c.id);
        values.push_back(&c.value);
    }
    ze_module_constants_t specialization = {static_cast<uint32_t>(ids.size()), ids.data(), values.data()};
    ze_module_desc_t desc = {};
    desc.format = ZE_MODULE_FORMAT_IL_SPIRV;
    desc.inputSize = binary.words.size();
    desc.pInputModule = binary.words.data();
    desc.pBuildFlags = flags;
    desc.pConstants = ids.empty() ? nullptr : &specialization;
    const ze_result_t result = create(dev, desc, log);
    if (result != ZE_RESULT_SUCCESS)
        fail_build(binary, log, result,
                   text("building %s (%zu bytes, flags \"%s\") for device \"%s\": zeModuleCreate",
                        binary.name, binary.words.size(), flags, dev.name.c_str()));
    if (log.find("warning") != std::string::npos) // for example of spilled registers
        verbose::print_once(verbose::warn, text("common,warn,building %s for device \"%s\", flags \"%s\": %s",
                                                binary.name, dev.name.c_str(), flags, log.c_str()));
    if (key.empty())
        return;
    try {
        store(key);
    } catch (const std::bad_alloc &) { // the module itself is usable
        warn_of_cache("a built module cannot be kept on disk: out of memory");
    }
}

bool kernel::from_disk() const {
    return module_->from_disk;
}

std::vector<uint8_t> kernel::native_binary() const {
    return module_->native_binary();
}

} // namespace zemm::ze
