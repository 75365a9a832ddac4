// SPDX-License-Identifier: Apache-2.0
#include "ggml/buffer.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>

#include "ggml/functions.hpp"
#include "ggml/repack.hpp"

namespace zemm_ggml {

namespace {

constexpr size_t alignment = 64;           // bytes: a line of the cache
constexpr size_t most_scratch = 64u << 20; // bytes that are kept

using bytes = const uint8_t *;

// A tensor that ggml's CPU device has repacked.
struct repacked_tensor {
    ggml::tensor tensor; // a copy
    std::vector<uint8_t> rest;
};

// What a buffer owns.
struct store {
    ggml::buffer *memory;                                                     // of ggml's CPU device
    std::mutex lock;                                                          // taken before the packer's
    std::map<std::pair<bytes, shape>, std::shared_ptr<const weights>> packed; // by first byte
    std::map<bytes, repacked_tensor> repacked;
    std::map<ggml::buffer_type *, ggml::buffer *> of_repacked; // what such tensors have as their buffer
};

zemm_engine_t the_engine;

store &store_of(const ggml::buffer *buffer) {
    return *static_cast<store *>(buffer->context);
}

bytes data_of(const ggml::tensor *tensor) {
    return static_cast<bytes>(tensor->data);
}

size_t row_bytes(const shape &s) {
    return size_t(s.k / s.form->elements * s.form->bytes);
}

size_t all_bytes(const shape &s) {
    return row_bytes(s) * size_t(s.n * std::max<zemm_dim_t>(1, s.experts));
}

// Bytes change: their packed copies are of no use any more.
void drop(store &s, bytes first, size_t size) {
    const std::lock_guard hold(s.lock);
    std::erase_if(s.packed, [&](const auto &entry) {
        const auto &[begin, of] = entry.first;
        return begin < first + size && first < begin + all_bytes(of);
    });
}

// What packs and restores tensors, one at a time.
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

std::shared_ptr<const weights> pack(const shape &of, bytes data) {
    packer &p = the_packer();
    const std::lock_guard hold(p.lock);
    if (p.scratch.size() > most_scratch)
        p.scratch = {};
    return std::make_shared<weights>(the_engine, p.stream.get(), of,
                                     blocks{data, row_bytes(of), row_bytes(of) * size_t(of.n)}, p.scratch);
}

// As llama.cpp names the matrices of experts; it multiplies by all other weights with MUL_MAT.
bool are_experts(const ggml::tensor *tensor) {
    return std::strstr(tensor->name, "_exps") != nullptr;
}

// How the weights of a whole tensor are packed before it is known what multiplies by them; no form: not at
// all.
shape likely_shape(const ggml::tensor *tensor) {
    const format *const form = find_format(tensor->type);
    const bool is_matrix = tensor->ne[2] == 1 && !are_experts(tensor);
    if (!form || tensor->ne[3] != 1 || api.nbytes(tensor) == 0 || (!is_matrix && !are_experts(tensor)))
        return {};
    return {form, is_matrix ? 0 : tensor->ne[2], tensor->ne[0], tensor->ne[1]};
}

void set_repacked(store &, ggml::tensor *, ggml::buffer *repacker, const shape &, bytes data);

// Sets a tensor of weights and packs it, so that its first product need not wait. A tensor that cannot be
// packed is left to ggml.
bool set_weights(ggml::buffer *buffer, ggml::tensor *tensor, bytes data) {
    const shape of = likely_shape(tensor);
    if (!of.form)
        return false;
    store &s = store_of(buffer);
    try {
        const auto packed = pack(of, data);
        const std::lock_guard hold(s.lock);
        s.packed[{data_of(tensor), of}] = packed;
        ggml::buffer *const repacker = find_repacker(*tensor, *of.form, of.experts != 0);
        if (repacker)
            set_repacked(s, tensor, repacker, of, data);
        else
            std::memcpy(tensor->data, data, all_bytes(of));
        return true;
    } catch (const std::exception &e) {
        log(ggml::log_warn, std::string(tensor->name) + " could not be packed: " + e.what());
        return false;
    }
}

// The bytes of a repacked tensor, as they were set.
std::vector<uint8_t> bytes_of_repacked(store &s, const ggml::tensor *tensor) {
    const shape of = likely_shape(tensor);
    const std::lock_guard hold(s.lock);
    const auto &packed = s.packed.at({data_of(tensor), of});
    const std::lock_guard one(the_packer().lock);
    return restore(*packed, the_packer().stream.get(), s.repacked.at(data_of(tensor)).rest, all_bytes(of));
}

// Changes bytes of a repacked tensor, or of a view of one. The functions of a buffer cannot fail: what cannot
// be done is logged.
template <typename F> void change_repacked(ggml::buffer *buffer, ggml::tensor *changed, F &&change) {
    store &s = store_of(buffer);
    ggml::tensor *const tensor = changed->view_src ? changed->view_src : changed;
    const shape of = likely_shape(tensor);
    try {
        std::vector<uint8_t> all = bytes_of_repacked(s, tensor);
        change(all.data() + changed->view_offs);
        const auto packed = pack(of, all.data());
        const std::lock_guard hold(s.lock);
        s.packed[{data_of(tensor), of}] = packed;
        set_repacked(s, tensor, find_repacker(*tensor, *of.form, of.experts != 0), of, all.data());
    } catch (const std::exception &e) {
        log(ggml::log_error, std::string(tensor->name) + " keeps its values: " + e.what());
    }
}

void memset_repacked(ggml::buffer *buffer, ggml::tensor *tensor, uint8_t value, size_t offset, size_t size) {
    change_repacked(buffer, tensor, [&](uint8_t *all) { std::memset(all + offset, value, size); });
}

void write_repacked(ggml::buffer *buffer, ggml::tensor *tensor, const void *data, size_t offset,
                    size_t size) {
    change_repacked(buffer, tensor, [&](uint8_t *all) { std::memcpy(all + offset, data, size); });
}

void read_repacked(ggml::buffer *buffer, const ggml::tensor *tensor, void *data, size_t offset, size_t size) {
    try {
        const ggml::tensor *const whole = tensor->view_src ? tensor->view_src : tensor;
        std::memcpy(data, bytes_of_repacked(store_of(buffer), whole).data() + tensor->view_offs + offset,
                    size);
    } catch (const std::exception &e) {
        log(ggml::log_error, std::string(tensor->name) + " cannot be read: " + e.what());
    }
}

void *get_base(ggml::buffer *buffer) {
    ggml::buffer *const memory = store_of(buffer).memory;
    return memory->iface.get_base(memory);
}

// The buffer that says to ggml's CPU device that its tensors are repacked.
ggml::buffer *buffer_of_repacked(store &s, ggml::buffer_type *type) {
    ggml::buffer *&found = s.of_repacked[type];
    if (!found) {
        ggml::buffer_i functions{};
        functions.get_base = get_base;
        functions.memset_tensor = memset_repacked;
        functions.set_tensor = write_repacked;
        functions.get_tensor = read_repacked;
        found = api.backend_buffer_init(type, functions, &s, s.memory->size);
        found->usage = ggml::usage_weights;
    }
    return found;
}

void set_repacked(store &s, ggml::tensor *tensor, ggml::buffer *repacker, const shape &of, bytes data) {
    tensor->buffer = buffer_of_repacked(s, repacker->buft);
    repacker->iface.init_tensor(repacker, tensor);
    repacker->iface.set_tensor(repacker, tensor, data, 0, all_bytes(of));
    s.repacked[data_of(tensor)] = {*tensor, rest_of(*of.form, data, all_bytes(of))};
}

void free_buffer(ggml::buffer *buffer) {
    store &s = store_of(buffer);
    for (const auto &[type, repacked] : s.of_repacked)
        api.backend_buffer_free(repacked);
    api.backend_buffer_free(s.memory);
    delete &s;
}

uint8_t *bytes_at(ggml::tensor *tensor, size_t offset) {
    return static_cast<uint8_t *>(tensor->data) + offset;
}

void memset_tensor(ggml::buffer *buffer, ggml::tensor *tensor, uint8_t value, size_t offset, size_t size) {
    std::memset(bytes_at(tensor, offset), value, size);
    drop(store_of(buffer), bytes_at(tensor, offset), size);
}

void set_tensor(ggml::buffer *buffer, ggml::tensor *tensor, const void *data, size_t offset, size_t size) {
    drop(store_of(buffer), bytes_at(tensor, offset), size);
    if (buffer->usage == ggml::usage_weights && !tensor->view_src && offset == 0 &&
        size == api.nbytes(tensor) && set_weights(buffer, tensor, static_cast<bytes>(data)))
        return;
    std::memcpy(bytes_at(tensor, offset), data, size);
}

void get_tensor(ggml::buffer *, const ggml::tensor *tensor, void *data, size_t offset, size_t size) {
    std::memcpy(data, data_of(tensor) + offset, size);
}

bool cpy_tensor(ggml::buffer *buffer, const ggml::tensor *src, ggml::tensor *dst) {
    if (!api.backend_buft_is_host(src->buffer->buft))
        return false;
    set_tensor(buffer, dst, src->data, 0, api.nbytes(src));
    return true;
}

void clear(ggml::buffer *buffer, uint8_t value) {
    store &s = store_of(buffer);
    uint8_t *at = static_cast<uint8_t *>(get_base(buffer));
    const auto fill_until = [&](bytes end) {
        std::memset(at, value, size_t(end - at));
        drop(s, at, size_t(end - at));
    };
    const bytes end = at + buffer->size;
    for (auto [first, kept] : std::map(s.repacked)) {
        fill_until(first);
        memset_repacked(kept.tensor.buffer, &kept.tensor, value, 0, api.nbytes(&kept.tensor));
        at += first - at + ptrdiff_t(api.nbytes(&kept.tensor));
    }
    fill_until(end);
}

const char *get_name(ggml::buffer_type *) {
    return "zemm";
}

ggml::buffer *alloc_buffer(ggml::buffer_type *type, size_t size) {
    ggml::buffer *const memory = api.backend_buft_alloc_buffer(api.backend_cpu_buffer_type(), size);
    if (!memory)
        return nullptr;
    ggml::buffer_i functions{};
    functions.free_buffer = free_buffer;
    functions.get_base = get_base;
    functions.memset_tensor = memset_tensor;
    functions.set_tensor = set_tensor;
    functions.get_tensor = get_tensor;
    functions.cpy_tensor = cpy_tensor;
    functions.clear = clear;
    return api.backend_buffer_init(type, functions, new store{memory, {}, {}, {}, {}}, size);
}

size_t get_alignment(ggml::buffer_type *) {
    return alignment;
}

bool is_host(ggml::buffer_type *) {
    return true;
}

bool is_repacked(const ggml::buffer *buffer) {
    return buffer->iface.get_tensor == read_repacked;
}

} // namespace

void init_buffer_type(ggml::buffer_type &type, ggml::device *device, zemm_engine_t engine) {
    the_engine = engine;
    type = {{get_name, alloc_buffer, get_alignment, nullptr, nullptr, is_host}, device, nullptr};
}

ggml::buffer *buffer_of(const ggml::tensor *tensor) {
    return tensor->view_src ? tensor->view_src->buffer : tensor->buffer;
}

bool is_in_buffer(const ggml::tensor *tensor, bool is_experts) {
    const ggml::buffer *const buffer = buffer_of(tensor);
    if (!buffer || !is_repacked(buffer))
        return buffer && buffer->buft->iface.get_name == get_name;
    return !tensor->view_src && is_experts == (likely_shape(tensor).experts != 0);
}

std::shared_ptr<const weights> packed_weights(const ggml::tensor *tensor, const shape &of, bytes data) {
    const ggml::buffer *const buffer = buffer_of(tensor);
    store &s = store_of(buffer);
    const std::lock_guard hold(s.lock);
    std::shared_ptr<const weights> &found = s.packed[{data, of}];
    if (!found && is_repacked(buffer))
        throw std::runtime_error(std::string(tensor->name) + " is repacked for another operation");
    if (!found)
        found = pack(of, data);
    return found;
}

} // namespace zemm_ggml
