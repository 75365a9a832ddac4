// SPDX-License-Identifier: Apache-2.0
#include "ggml/store.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <string>

#include "ggml/repack.hpp"

namespace zemm_ggml {

namespace {

constexpr size_t line = 64;                // bytes of the cache
constexpr size_t most_scratch = 64u << 20; // bytes that are kept
constexpr size_t small = 64u << 10;        // bytes of weights that are compared as a whole

size_t row_bytes(const shape &s) {
    return size_t(s.k / s.form->elements * s.form->bytes);
}

// Packs and restores tensors, one at a time. Its lock is taken after a store's.
struct packer {
    std::mutex lock;
    owned_stream stream = created<owned_stream>(
        [](zemm_stream_t *made) { return zemm_stream_create(made, the_engine, zemm_stream_default_flags); });
    std::vector<uint8_t> scratch;
};

packer &the_packer() {
    static packer &made = *new packer;
    return made;
}

// As llama.cpp names the matrices of experts; it multiplies by all other weights with MUL_MAT.
bool are_experts(const ggml::tensor *tensor) {
    return std::strstr(tensor->name, "_exps") != nullptr;
}

} // namespace

zemm_engine_t the_engine;

size_t all_bytes(const shape &s) {
    return row_bytes(s) * size_t(s.n * std::max<zemm_dim_t>(1, s.experts));
}

uint64_t digest_of(const shape &of, bytes data) {
    const size_t all = all_bytes(of), step = all <= small ? all : row_bytes(of);
    const size_t part = all <= small ? all : std::min(step, line);
    uint64_t digest = 0;
    for (size_t first = 0; first < all; first += step)
        for (size_t at = 0; at < part; at += sizeof digest) {
            uint64_t word = 0;
            std::memcpy(&word, data + first + at, std::min(part - at, sizeof word));
            digest = std::rotl((digest ^ word) * 0x9e3779b97f4a7c15, 29);
        }
    return digest;
}

void drop(store &s, bytes first, size_t size) {
    const auto is_in = [&](bytes begin, const shape &of) {
        return begin < first + size && first < begin + all_bytes(of);
    };
    std::erase_if(s.packed, [&](const auto &entry) { return is_in(entry.first.first, entry.first.second); });
    std::erase_if(s.repacked,
                  [&](const auto &entry) { return is_in(entry.first, entry.second.kept.packed->dims()); });
}

std::shared_ptr<const weights> pack(const shape &of, bytes data) {
    packer &p = the_packer();
    const std::lock_guard hold(p.lock);
    if (p.scratch.size() > most_scratch)
        p.scratch = {};
    return std::make_shared<weights>(the_engine, p.stream.get(), of,
                                     blocks{data, row_bytes(of), row_bytes(of) * size_t(of.n)}, p.scratch);
}

shape likely_shape(const ggml::tensor *tensor) {
    const format *const form = find_format(tensor->type);
    const bool is_matrix = tensor->ne[2] == 1 && !are_experts(tensor);
    if (!form || tensor->ne[3] != 1 || api.nbytes(tensor) == 0 || (!is_matrix && !are_experts(tensor)))
        return {};
    return {form, is_matrix ? 0 : tensor->ne[2], tensor->ne[0], tensor->ne[1]};
}

void check_untouched(const repacked_tensor &r) {
    if (r.kept.digest != digest_of(r.kept.packed->dims(), data_of(&r.tensor)))
        throw std::runtime_error(std::string(r.tensor.name) +
                                 " was written to while ggml's CPU device had it repacked");
}

std::vector<uint8_t> bytes_of(const repacked_tensor &r) {
    check_untouched(r);
    const std::lock_guard one(the_packer().lock);
    return restore(*r.kept.packed, the_packer().stream.get(), r.rest, all_bytes(r.kept.packed->dims()));
}

void set_and_pack(store &s, ggml::tensor *tensor, const shape &of, bytes data) {
    const bytes at = data_of(tensor);
    ggml::buffer *const repacker =
        s.unpacked.contains(at) ? nullptr : find_repacker(*tensor, *of.form, of.experts != 0);
    const kept_weights kept{pack(of, data), digest_of(of, data)};
    if (!repacker) {
        std::map<std::pair<bytes, shape>, kept_weights> packed{{{at, of}, kept}};
        drop(s, at, all_bytes(of));
        std::memcpy(tensor->data, data, all_bytes(of));
        s.packed.merge(packed);
        return;
    }
    std::map<bytes, repacked_tensor> repacked;
    repacked_tensor &made = repacked[at] = {{}, kept, rest_of(*of.form, data, all_bytes(of))};
    ggml::buffer *const buffer = buffer_of_repacked(s, repacker->buft);
    drop(s, at, all_bytes(of));
    tensor->buffer = buffer;
    repacker->iface.init_tensor(repacker, tensor);
    repacker->iface.set_tensor(repacker, tensor, data, 0, all_bytes(of));
    made.tensor = *tensor;
    made.kept.digest = digest_of(of, at);
    s.repacked.merge(repacked);
}

} // namespace zemm_ggml
