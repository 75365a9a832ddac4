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
    for (ggml::buffer_type **type = list ? list(cpu) : nullptr; type && *type; ++type)
        if (ggml::buffer *const buffer = api.backend_buft_alloc_buffer(*type, 64))
            found.push_back(buffer);
    return found;
}

const std::vector<ggml::buffer *> &buffers() {
    static const auto &found = *new std::vector(find_buffers(api.backend_dev_by_type(ggml::device_cpu)));
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

bool is_code(const format &f, int at) {
    const auto is_in = [&](const fields &part) {
        return at >= part.at && at < part.at + f.elements * part.bits / 8;
    };
    return is_in(f.low) || is_in(f.high);
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
    std::vector<uint8_t> rest;
    for (size_t block = 0; block < bytes; block += size_t(f.bytes))
        for (int at = 0; at < f.bytes; ++at)
            if (!is_code(f, at))
                rest.push_back(blocks[block + size_t(at)]);
    return rest;
}

std::vector<uint8_t> restore(const weights &w, zemm_stream_t stream, const std::vector<uint8_t> &rest,
                             size_t bytes) {
    const format &f = *w.dims().form;
    std::vector<uint8_t> blocks(bytes);
    auto next = rest.begin();
    for (size_t block = 0; block < bytes; block += size_t(f.bytes))
        for (int at = 0; at < f.bytes; ++at)
            if (!is_code(f, at))
                blocks[block + size_t(at)] = *next++;
    w.write_codes(stream, blocks.data());
    return blocks;
}

} // namespace zemm_ggml
