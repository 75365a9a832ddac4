// SPDX-License-Identifier: Apache-2.0
//
// Native binaries. A native binary is the binary of the OpenCL program behind a header of this
// driver: kernels need the table of their arguments, which only the SPIR-V has. The layout:
//
//   char[8] magic, u32 format version, u32 flags (0), u64 checksum of all that follows
//   u64 build_id of the driver, u64 stamp of the runtime and the device
//   u32 number of kernels, and for each: name, attributes, u32[3] required group size,
//     u32 required sub-group size, u32 required number of sub-groups, u32 number of arguments,
//     and for each argument: u32 kind, u32 size, u32 least size
//   u32 number of unresolved imports, and their names
//   options for linking the sources
//   u32 number of sources, and for each: u64 size, SPIR-V, options, u32 number of constants,
//     and for each constant: u32 id, u32 size, value
//   u64 size of the OpenCL binary, and its bytes
//
// Numbers are little-endian. A text has its u32 length in front. OpenCL trusts its binaries, so the
// driver verifies everything before OpenCL sees one.
#include "module.h"

#include <cstring>

#include "device/handles.h"
#include "device/isa.h"
#include "opencl/runtime.h"
#include "opencl/runtime_settings.h"

namespace ze_cpu {
namespace {

constexpr char magic[8] = {'Z', 'E', 'C', 'P', 'U', 'B', 'I', 'N'};
constexpr uint32_t format_version = 4;
constexpr size_t checked_from = sizeof magic + 4 + 4 + 8;

/// FNV-1a in steps of 8 bytes. A change of any single byte changes the sum.
uint64_t checksum(const uint8_t *data, size_t size, uint64_t sum = 0xcbf29ce484222325ull) {
    for (; size >= 8; data += 8, size -= 8) {
        uint64_t word;
        std::memcpy(&word, data, 8);
        sum = (sum ^ word) * 0x100000001b3ull;
        sum ^= sum >> 29;
    }
    for (; size > 0; data++, size--)
        sum = (sum ^ *data) * 0x100000001b3ull;
    return sum;
}

/// A hash of the runtime, the runtime's settings, and the kind of CPU: what a binary depends on
/// beside the driver.
uint64_t stamp() {
    const DeviceInfo &d = runtime().info;
    std::string text = d.driver_version + "|" + d.name + "|" + std::to_string(d.vector_width_int) + "|" +
                       std::to_string(d.compute_units) + "|" + runtime_settings();
    for (const char *isa : isa_extensions())
        text += std::string("|") + isa;
    return checksum(reinterpret_cast<const uint8_t *>(text.data()), text.size());
}

class Writer {
public:
    void bytes(const void *data, size_t size) {
        auto *from = static_cast<const uint8_t *>(data);
        out.insert(out.end(), from, from + size);
    }
    void u32(uint32_t value) { bytes(&value, sizeof value); }
    void u64(uint64_t value) { bytes(&value, sizeof value); }
    void text(const std::string &value) {
        u32(uint32_t(value.size()));
        bytes(value.data(), value.size());
    }
    std::vector<uint8_t> out;
};

class Reader {
public:
    Reader(const uint8_t *data, size_t size) : data_(data), left_(size) {}
    bool bytes(void *to, size_t size) {
        if (size > left_)
            return false;
        std::memcpy(to, data_, size);
        data_ += size;
        left_ -= size;
        return true;
    }
    bool u32(uint32_t &value) { return bytes(&value, sizeof value); }
    bool u64(uint64_t &value) { return bytes(&value, sizeof value); }
    bool text(std::string &value) {
        uint32_t length = 0;
        if (!u32(length) || length > left_)
            return false;
        value.resize(length);
        return bytes(value.data(), length);
    }
    size_t left() const { return left_; }
    const uint8_t *at() const { return data_; }

private:
    const uint8_t *data_;
    size_t left_;
};

bool read_kernel(Reader &in, KernelInfo &kernel) {
    uint32_t args = 0;
    if (!in.text(kernel.name) || !in.text(kernel.attributes) ||
        !in.bytes(kernel.required_group_size.data(), 12) || !in.u32(kernel.required_sub_group_size) ||
        !in.u32(kernel.required_sub_groups) || !in.u32(args) || args > in.left() / 12)
        return false;
    for (uint32_t i = 0; i < args; i++) {
        uint32_t kind = 0;
        ArgInfo arg;
        if (!in.u32(kind) || !in.u32(arg.size) || !in.u32(arg.least) || kind > uint32_t(ArgKind::sampler))
            return false;
        arg.kind = ArgKind(kind);
        kernel.args.push_back(arg);
    }
    return true;
}

bool read_source(Reader &in, NativeModule::Input &source) {
    uint64_t size = 0;
    uint32_t count = 0;
    if (!in.u64(size) || size > in.left())
        return false;
    source.words.resize(size);
    if (!in.bytes(source.words.data(), size) || !in.text(source.options) || !in.u32(count))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id = 0, bytes = 0;
        if (!in.u32(id) || !in.u32(bytes) || bytes > in.left())
            return false;
        std::vector<uint8_t> &value = source.constants[id];
        value.resize(bytes);
        if (!in.bytes(value.data(), bytes))
            return false;
    }
    return true;
}

bool read_body(Reader &in, NativeModule &module) {
    uint32_t count = 0;
    if (!in.u32(count) || count > in.left() / 28)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!read_kernel(in, module.kernels.emplace_back()))
            return false;
    if (!in.u32(count) || count > in.left() / 4)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!in.text(module.unresolved.emplace_back()))
            return false;
    if (!in.text(module.options) || !in.u32(count) || count > in.left() / 16)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!read_source(in, module.sources.emplace_back()))
            return false;
    uint64_t size = 0;
    if (!in.u64(size) || size != in.left())
        return false;
    module.binary.assign(in.at(), in.at() + in.left());
    return true;
}

} // namespace

std::vector<uint8_t> pack_native(const NativeModule &module) {
    Writer w;
    w.bytes(magic, sizeof magic);
    w.u32(format_version);
    w.u32(0);
    w.u64(0); // the checksum's place
    w.u64(build_id);
    w.u64(stamp());
    w.u32(uint32_t(module.kernels.size()));
    for (const KernelInfo &kernel : module.kernels) {
        w.text(kernel.name);
        w.text(kernel.attributes);
        w.bytes(kernel.required_group_size.data(), 12);
        w.u32(kernel.required_sub_group_size);
        w.u32(kernel.required_sub_groups);
        w.u32(uint32_t(kernel.args.size()));
        for (const ArgInfo &arg : kernel.args) {
            w.u32(uint32_t(arg.kind));
            w.u32(arg.size);
            w.u32(arg.least);
        }
    }
    w.u32(uint32_t(module.unresolved.size()));
    for (const std::string &name : module.unresolved)
        w.text(name);
    w.text(module.options);
    w.u32(uint32_t(module.sources.size()));
    for (const NativeModule::Input &source : module.sources) {
        w.u64(source.words.size());
        w.bytes(source.words.data(), source.words.size());
        w.text(source.options);
        w.u32(uint32_t(source.constants.size()));
        for (const auto &[id, value] : source.constants) {
            w.u32(id);
            w.u32(uint32_t(value.size()));
            w.bytes(value.data(), value.size());
        }
    }
    w.u64(module.binary.size());
    w.bytes(module.binary.data(), module.binary.size());
    uint64_t sum = checksum(w.out.data() + checked_from, w.out.size() - checked_from);
    std::memcpy(w.out.data() + checked_from - 8, &sum, sizeof sum);
    return std::move(w.out);
}

bool unpack_native(const uint8_t *data, size_t size, NativeModule &module, std::string &error) {
    auto fail = [&](const char *what) {
        error = std::string("invalid native binary: ") + what;
        return false;
    };
    Reader in(data, size);
    char found[sizeof magic];
    uint32_t version = 0, flags = 0;
    uint64_t sum = 0, made_by = 0, made_for = 0;
    if (!in.bytes(found, sizeof found) || std::memcmp(found, magic, sizeof magic) != 0)
        return fail("it is not one of this driver");
    if (!in.u32(version) || version != format_version || !in.u32(flags) || flags != 0)
        return fail("it is of another version of this driver");
    if (!in.u64(sum) || sum != checksum(in.at(), in.left()))
        return fail("it is damaged");
    if (!in.u64(made_by) || made_by != build_id)
        return fail("it was made by another build of this driver");
    if (!in.u64(made_for) || made_for != stamp())
        return fail("it was made for another device or by another OpenCL runtime");
    return read_body(in, module) || fail("it is damaged");
}

} // namespace ze_cpu
