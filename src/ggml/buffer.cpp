// SPDX-License-Identifier: Apache-2.0
#include "ggml/buffer.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>

#include "ggml/repack.hpp"
#include "ggml/store.hpp"

namespace zemm_ggml {

namespace {

constexpr size_t alignment = 64; // bytes: a line of the cache

store &store_of(const ggml::buffer *buffer) {
    return *static_cast<store *>(buffer->context);
}

void memset_repacked(ggml::buffer *, ggml::tensor *, uint8_t value, size_t offset, size_t size);
void write_repacked(ggml::buffer *, ggml::tensor *, const void *data, size_t offset, size_t size);
void read_repacked(ggml::buffer *, const ggml::tensor *, void *data, size_t offset, size_t size);
void clear(ggml::buffer *, uint8_t value);

void *get_base(ggml::buffer *buffer) {
    ggml::buffer *const memory = store_of(buffer).memory.get();
    return memory->iface.get_base(memory);
}

bool is_whole(const ggml::tensor *tensor, size_t offset, size_t size) {
    return !tensor->view_src && offset == 0 && size == api.nbytes(tensor);
}

void set_bytes(store &s, ggml::tensor *tensor, bytes data, size_t offset, size_t size) {
    const shape of = likely_shape(tensor);
    if (of.form && is_kept(tensor) && is_whole(tensor, offset, size)) {
        try {
            set_and_pack(s, tensor, of, data);
            return;
        } catch (const std::exception &e) {
            log(ggml::log_warn, "%s could not be packed: %s", tensor->name, e.what());
        }
    }
    uint8_t *const to = static_cast<uint8_t *>(tensor->data) + offset;
    drop(s, to, size);
    std::memcpy(to, data, size);
}

// The tensor's bytes are ggml's again, not repacked ones; the caller sets them.
void leave_repacked(store &s, ggml::tensor *tensor) {
    drop(s, data_of(tensor), api.nbytes(tensor));
    tensor->buffer = s.buffer;
    tensor->extra = nullptr;
}

// Changes bytes of a repacked tensor, or of a view of one. The functions of a buffer cannot fail: what cannot
// be done is logged.
template <typename F> void change_repacked(ggml::buffer *buffer, ggml::tensor *changed, F &&change) {
    store &s = store_of(buffer);
    ggml::tensor *const tensor = changed->view_src ? changed->view_src : changed;
    const std::lock_guard hold(s.lock);
    try {
        const repacked_tensor &r = s.repacked.at(data_of(tensor));
        const shape of = r.kept.packed->dims();
        std::vector<uint8_t> all = bytes_of(r);
        change(all.data() + changed->view_offs);
        set_and_pack(s, tensor, of, all.data());
    } catch (const std::exception &e) {
        log(ggml::log_error, "%s keeps its values: %s", tensor->name, e.what());
    }
}

void memset_repacked(ggml::buffer *buffer, ggml::tensor *tensor, uint8_t value, size_t offset, size_t size) {
    change_repacked(buffer, tensor, [&](uint8_t *all) { std::memset(all + offset, value, size); });
}

void write_repacked(ggml::buffer *buffer, ggml::tensor *tensor, const void *data, size_t offset,
                    size_t size) {
    if (!is_whole(tensor, offset, size)) {
        change_repacked(buffer, tensor, [&](uint8_t *all) { std::memcpy(all + offset, data, size); });
        return;
    }
    store &s = store_of(buffer);
    const std::lock_guard hold(s.lock);
    leave_repacked(s, tensor);
    set_bytes(s, tensor, static_cast<bytes>(data), 0, size);
}

void read_repacked(ggml::buffer *buffer, const ggml::tensor *tensor, void *data, size_t offset, size_t size) {
    store &s = store_of(buffer);
    const std::lock_guard hold(s.lock);
    try {
        const std::vector<uint8_t> all = bytes_of(s.repacked.at(data_of(whole_of(tensor))));
        std::memcpy(data, all.data() + tensor->view_offs + offset, size);
    } catch (const std::exception &e) {
        log(ggml::log_error, "%s cannot be read: %s", tensor->name, e.what());
    }
}

void free_buffer(ggml::buffer *buffer) {
    delete &store_of(buffer);
}

void memset_tensor(ggml::buffer *buffer, ggml::tensor *tensor, uint8_t value, size_t offset, size_t size) {
    store &s = store_of(buffer);
    const std::lock_guard hold(s.lock);
    uint8_t *const to = static_cast<uint8_t *>(tensor->data) + offset;
    drop(s, to, size);
    std::memset(to, value, size);
}

void set_tensor(ggml::buffer *buffer, ggml::tensor *tensor, const void *data, size_t offset, size_t size) {
    store &s = store_of(buffer);
    const std::lock_guard hold(s.lock);
    set_bytes(s, tensor, static_cast<bytes>(data), offset, size);
}

void get_tensor(ggml::buffer *, const ggml::tensor *tensor, void *data, size_t offset, size_t size) {
    std::memcpy(data, data_of(tensor) + offset, size);
}

// Repacked tensors stay so. One that cannot be cleared keeps its values, which is logged.
void clear_repacked(store &s, uint8_t value) {
    for (auto next = s.repacked.begin(); next != s.repacked.end();) {
        const bytes first = next->first;
        ggml::tensor tensor = next->second.tensor;
        const shape of = next->second.kept.packed->dims();
        try {
            set_and_pack(s, &tensor, of, std::vector<uint8_t>(all_bytes(of), value).data());
        } catch (const std::exception &e) {
            log(ggml::log_error, "%s keeps its values: %s", tensor.name, e.what());
        }
        next = s.repacked.upper_bound(first);
    }
}

void clear(ggml::buffer *buffer, uint8_t value) {
    store &s = store_of(buffer);
    const std::lock_guard hold(s.lock);
    clear_repacked(s, value);
    uint8_t *at = static_cast<uint8_t *>(get_base(buffer));
    const auto fill_until = [&](bytes end) {
        std::memset(at, value, size_t(end - at));
        drop(s, at, size_t(end - at));
    };
    const bytes end = at + buffer->size;
    for (const auto &[first, kept] : s.repacked) {
        fill_until(first);
        at += first - at + ptrdiff_t(all_bytes(kept.kept.packed->dims()));
    }
    fill_until(end);
}

const char *get_name(ggml::buffer_type *) {
    return "zemm";
}

ggml::buffer *alloc_buffer(ggml::buffer_type *type, size_t size) {
    try {
        auto made = std::make_unique<store>();
        made->memory.reset(api.backend_buft_alloc_buffer(api.backend_cpu_buffer_type(), size));
        if (!made->memory)
            return nullptr;
        ggml::buffer_i functions{};
        functions.free_buffer = free_buffer;
        functions.get_base = get_base;
        functions.memset_tensor = memset_tensor;
        functions.set_tensor = set_tensor;
        functions.get_tensor = get_tensor;
        functions.clear = clear;
        made->buffer = api.backend_buffer_init(type, functions, made.get(), size);
        return made.release()->buffer;
    } catch (const std::exception &e) {
        log(ggml::log_error, "a buffer of %zu bytes cannot be made: %s", size, e.what());
        return nullptr;
    }
}

// The packed form of the tensor, or null if it is not of this shape.
std::shared_ptr<const weights> packed_of_repacked(const ggml::tensor *tensor, const shape &of) {
    if (tensor->view_src)
        return nullptr;
    store &s = store_of(tensor->buffer);
    const std::lock_guard hold(s.lock);
    const repacked_tensor &r = s.repacked.at(data_of(tensor));
    check_untouched(r);
    return r.kept.packed->dims() == of ? r.kept.packed : nullptr;
}

size_t get_alignment(ggml::buffer_type *) {
    return alignment;
}

bool is_host(ggml::buffer_type *) {
    return true;
}

} // namespace

ggml::buffer *buffer_of_repacked(store &s, ggml::buffer_type *type) {
    owned_buffer &found = s.of_repacked[type];
    if (!found) {
        ggml::buffer_i functions{};
        functions.get_base = get_base;
        functions.memset_tensor = memset_repacked;
        functions.set_tensor = write_repacked;
        functions.get_tensor = read_repacked;
        functions.clear = clear;
        found.reset(api.backend_buffer_init(type, functions, &s, s.memory->size));
        found->usage = ggml::usage_weights;
    }
    return found.get();
}

void init_buffer_type(ggml::buffer_type &type, ggml::device *device, zemm_engine_t engine) {
    the_engine = engine;
    type = {{get_name, alloc_buffer, get_alignment, nullptr, nullptr, is_host}, device, nullptr};
}

const ggml::tensor *whole_of(const ggml::tensor *tensor) {
    return tensor->view_src ? tensor->view_src : tensor;
}

ggml::buffer *buffer_of(const ggml::tensor *tensor) {
    return whole_of(tensor)->buffer;
}

bool is_repacked(const ggml::tensor *tensor) {
    const ggml::buffer *const buffer = buffer_of(tensor);
    return buffer && buffer->iface.get_tensor == read_repacked;
}

void unpack(ggml::tensor *tensor) {
    store &s = store_of(tensor->buffer);
    const std::lock_guard hold(s.lock);
    const std::vector<uint8_t> all = bytes_of(s.repacked.at(data_of(tensor)));
    s.unpacked.insert(data_of(tensor));
    leave_repacked(s, tensor);
    std::memcpy(tensor->data, all.data(), all.size());
}

bool is_in_buffer(const ggml::tensor *tensor) {
    const ggml::buffer *const buffer = buffer_of(tensor);
    return is_repacked(tensor) || (buffer && buffer->buft->iface.get_name == get_name);
}

bool is_kept(const ggml::tensor *tensor) {
    return is_in_buffer(tensor) && buffer_of(tensor)->usage == ggml::usage_weights &&
           !(whole_of(tensor)->flags & ggml::flag_param);
}

void check_memory(const ggml::tensor *tensor) {
    const ggml::buffer *const buffer = buffer_of(tensor);
    if (!tensor->data)
        throw std::runtime_error(std::string(tensor->name) + " has no memory");
    if (buffer && !api.backend_buft_is_host(buffer->buft))
        throw std::runtime_error(std::string(tensor->name) + " is in a buffer of " +
                                 buffer->buft->iface.get_name(buffer->buft) + ", which zemm cannot read");
}

std::shared_ptr<const weights> packed_weights(calls &c, ggml::tensor *tensor, const shape &of, size_t at) {
    if (is_repacked(tensor)) {
        if (auto packed = packed_of_repacked(tensor, of))
            return packed;
        unpack(tensor->view_src ? tensor->view_src : tensor);
    }
    check_memory(tensor);
    const bytes data = data_of(tensor) + at;
    const ggml::buffer *const buffer = buffer_of(tensor);
    if (!is_kept(tensor) || buffer->iface.free_buffer != free_buffer) {
        c.wait();
        return pack(of, data);
    }
    store &s = store_of(buffer);
    const std::lock_guard hold(s.lock);
    const uint64_t digest = digest_of(of, data);
    const auto found = s.packed.find({data, of});
    if (found != s.packed.end() && found->second.digest == digest)
        return found->second.packed;
    const auto packed = pack(of, data);
    s.packed.insert_or_assign({data, of}, kept_weights{packed, digest});
    return packed;
}

} // namespace zemm_ggml
