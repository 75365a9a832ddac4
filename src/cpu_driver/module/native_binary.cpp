// SPDX-License-Identifier: Apache-2.0
//
// Native binaries. A native binary is the binary of the OpenCL program behind a header of this
// driver: kernels need the table of their arguments, which only the SPIR-V has. The layout:
//
//   char[8] magic, u32 format version, u32 flags (0), u64 checksum of all that follows
//   u64 build_id of the driver, u64 stamp of the runtime and the device
//   u32 number of kernels, and for each: name, attributes, u32[3] required group size,
//     u32 required sub-group size, u32 required number of sub-groups, u32 has a group
//     function (0 or 1), u32 number of arguments,
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

#include <algorithm>
#include <cstring>

#include "device/handles.h"
#include "device/isa.h"
#include "opencl/runtime.h"
#include "opencl/runtime_settings.h"

namespace ze_cpu {
namespace {

constexpr char magic[8] = {'Z', 'E', 'C', 'P', 'U', 'B', 'I', 'N'};
constexpr uint32_t format_version = 5;
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

/// Writer and Reader have the same functions, so that one description of the layout serves both. All
/// return whether the binary is valid so far.
class Writer {
public:
    bool bytes(const void *data, size_t size) {
        auto *from = static_cast<const uint8_t *>(data);
        out.insert(out.end(), from, from + size);
        return true;
    }
    template <class T> bool number(T value) { return bytes(&value, sizeof value); }
    /// A text or bytes, behind their size in a number of type Size.
    template <class Size> bool sized(const auto &value) {
        return number(Size(value.size())) && bytes(value.data(), value.size());
    }
    bool list(const auto &items, size_t, auto item) {
        bool ok = number(uint32_t(items.size()));
        for (const auto &it : items)
            ok = ok && item(it);
        return ok;
    }
    bool constants(const Constants &all) {
        return list(all, 8, [&](const auto &it) { return number(it.first) && sized<uint32_t>(it.second); });
    }
    std::vector<uint8_t> out;
};

class Reader {
public:
    Reader(const uint8_t *data, size_t size) : data_(data), left_(size) {}
    bool bytes(void *to, size_t size) {
        if (size > left_)
            return false;
        std::copy_n(data_, size, static_cast<uint8_t *>(to));
        data_ += size;
        left_ -= size;
        return true;
    }
    template <class T> bool number(T &value) { return bytes(&value, sizeof value); }
    template <class Size> bool sized(auto &value) {
        Size size = 0;
        if (!number(size) || size > left_)
            return false;
        value.resize(size);
        return bytes(value.data(), size);
    }
    /// Each item has at least `least` bytes.
    bool list(auto &items, size_t least, auto item) {
        uint32_t count = 0;
        if (!number(count) || count > left_ / least)
            return false;
        for (uint32_t i = 0; i < count; i++)
            if (!item(items.emplace_back()))
                return false;
        return true;
    }
    bool constants(Constants &all) {
        uint32_t count = 0, id = 0;
        if (!number(count))
            return false;
        for (uint32_t i = 0; i < count; i++)
            if (!number(id) || !sized<uint32_t>(all[id]))
                return false;
        return true;
    }
    size_t left() const { return left_; }
    const uint8_t *at() const { return data_; }

private:
    const uint8_t *data_;
    size_t left_;
};

/// The part after the header, from a Reader or for a Writer.
bool body(auto &io, auto &module) {
    auto text = [&](auto &value) { return io.template sized<uint32_t>(value); };
    auto arg = [&](auto &it) {
        return io.number(it.kind) && it.kind <= ArgKind::sampler && io.number(it.size) && io.number(it.least);
    };
    auto kernel = [&](auto &it) {
        return text(it.name) && text(it.attributes) && io.bytes(it.required_group_size.data(), 12) &&
               io.number(it.required_sub_group_size) && io.number(it.required_sub_groups) &&
               io.number(it.has_group_function) && io.list(it.args, 12, arg);
    };
    auto source = [&](auto &it) {
        return io.template sized<uint64_t>(it.words) && text(it.options) && io.constants(it.constants);
    };
    return io.list(module.kernels, 32, kernel) && io.list(module.unresolved, 4, text) &&
           text(module.options) && io.list(module.sources, 16, source) &&
           io.template sized<uint64_t>(module.binary);
}

} // namespace

std::vector<uint8_t> pack_native(const NativeModule &module) {
    Writer w;
    w.bytes(magic, sizeof magic);
    w.number(format_version);
    w.number(uint32_t(0));
    w.number(uint64_t(0)); // the checksum's place
    w.number(build_id);
    w.number(stamp());
    body(w, module);
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
    if (!in.number(version) || version != format_version || !in.number(flags) || flags != 0)
        return fail("it is of another version of this driver");
    if (!in.number(sum) || sum != checksum(in.at(), in.left()))
        return fail("it is damaged");
    if (!in.number(made_by) || made_by != build_id)
        return fail("it was made by another build of this driver");
    if (!in.number(made_for) || made_for != stamp())
        return fail("it was made for another device or by another OpenCL runtime");
    return (body(in, module) && in.left() == 0) || fail("it is damaged");
}

} // namespace ze_cpu
