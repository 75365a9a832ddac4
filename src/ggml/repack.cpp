// SPDX-License-Identifier: Apache-2.0
#include "ggml/repack.hpp"

#include <algorithm>

#include "ggml/functions.hpp"

namespace zemm_ggml {

namespace {

using list_function = ggml::buffer_type **(*)(ggml::device *);

// A small buffer of each of the types.
std::vector<ggml::buffer *> find_buffers(ggml::device *cpu) {
    std::vector<ggml::buffer *> found;
    const auto list = reinterpret_cast<list_function>(api.backend_reg_get_proc_address(
        api.backend_dev_backend_reg(cpu), "ggml_backend_dev_get_extra_bufts"));
    for (ggml::buffer_type **type = list ? list(cpu) : nullptr; type && *type; ++type) {
        found.push_back(nullptr); // before there is something to own
        found.back() = api.backend_buft_alloc_buffer(*type, 64);
    }
    std::erase(found, nullptr);
    return found;
}

// Never freed. None before the program has loaded ggml's CPU device.
const std::vector<ggml::buffer *> &buffers() {
    static const std::vector<ggml::buffer *> &none = *new std::vector<ggml::buffer *>;
    ggml::device *const cpu = api.backend_dev_by_type(ggml::device_cpu);
    if (!cpu)
        return none;
    static const auto &found = *new std::vector(find_buffers(cpu));
    return found;
}

// Asks as llama.cpp does: by a product whose weights are in a buffer of the type.
bool repacks(ggml::buffer *buffer, const ggml::tensor &tensor, bool is_experts) {
    ggml::tensor w = tensor, src{}, node{};
    w.buffer = buffer;
    src.type = node.type = ggml::type_f32;
    for (int i = 0; i < ggml::max_dims; ++i)
        src.ne[i] = node.ne[i] = 1;
    src.ne[0] = w.ne[0];
    node.ne[0] = w.ne[1];
    src.nb[0] = node.nb[0] = sizeof(float);
    for (int i = 1; i < ggml::max_dims; ++i) {
        src.nb[i] = src.nb[i - 1] * size_t(src.ne[i - 1]);
        node.nb[i] = node.nb[i - 1] * size_t(node.ne[i - 1]);
    }
    node.op = is_experts ? operation("MUL_MAT_ID") : operation("MUL_MAT");
    node.src[0] = &w;
    node.src[1] = &src;
    return api.backend_dev_supports_op(api.backend_dev_by_type(ggml::device_cpu), &node);
}

// The parts of a block between its codes.
struct part {
    size_t at, bytes;
};

std::vector<part> parts_beside_codes(const format &f) {
    const auto end = [&](const fields &codes) { return codes.at + f.elements * codes.bits / 8; };
    const bool is_low_first = !f.high.bits || f.low.at < f.high.at;
    const fields &first = is_low_first ? f.low : f.high, &second = is_low_first ? f.high : f.low;
    std::vector<part> parts{{0, size_t(first.at)}};
    int begin = end(first);
    if (second.bits) {
        parts.push_back({size_t(begin), size_t(second.at - begin)});
        begin = end(second);
    }
    parts.push_back({size_t(begin), size_t(f.bytes - begin)});
    return parts;
}

} // namespace

ggml::buffer *find_repacker(const ggml::tensor &tensor, const format &f, bool is_experts) {
    if (!can_write_codes(f))
        return nullptr;
    for (ggml::buffer *const buffer : buffers())
        if (api.backend_buft_get_alloc_size(buffer->buft, &tensor) <= api.nbytes(&tensor) &&
            buffer->iface.init_tensor && repacks(buffer, tensor, is_experts))
            return buffer;
    return nullptr;
}

bool is_repacker(const ggml::buffer_type *type) {
    return std::any_of(buffers().begin(), buffers().end(),
                       [&](const ggml::buffer *buffer) { return buffer->buft == type; });
}

std::vector<uint8_t> rest_of(const format &f, const uint8_t *blocks, size_t bytes) {
    const std::vector<part> parts = parts_beside_codes(f);
    const size_t codes = size_t(f.elements * (f.low.bits + f.high.bits) / 8);
    std::vector<uint8_t> rest(bytes / size_t(f.bytes) * (size_t(f.bytes) - codes));
    uint8_t *next = rest.data();
    for (size_t block = 0; block < bytes; block += size_t(f.bytes))
        for (const auto &[at, count] : parts)
            next = std::copy_n(blocks + block + at, count, next);
    return rest;
}

std::vector<uint8_t> restore(const weights &w, zemm_stream_t stream, const std::vector<uint8_t> &rest,
                             size_t bytes) {
    const format &f = *w.dims().form;
    const std::vector<part> parts = parts_beside_codes(f);
    std::vector<uint8_t> blocks(bytes);
    const uint8_t *next = rest.data();
    for (size_t block = 0; block < bytes; block += size_t(f.bytes))
        for (const auto &[at, count] : parts) {
            std::copy_n(next, count, blocks.data() + block + at);
            next += count;
        }
    w.write_codes(stream, blocks.data());
    return blocks;
}

} // namespace zemm_ggml
