// SPDX-License-Identifier: Apache-2.0
// Entry points of memory: buffers, mapping, handles and host scalars.
#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>

#include "common/guard.hpp"
#include "primitive/objects.hpp"
#include "zemm/zemm.h"

using namespace zemm;

namespace {

size_t scalar_bytes(const memory_desc &md) {
    return size_t(bytes_of(md.data_type, 1));
}

// Checks that kernels can reach the caller's pointer, and that its USM allocation has size bytes
// from there on. The size of ordinary host memory is unknown to Level Zero and not checked.
void check_handle(const ze::device &dev, const void *handle, size_t size) {
    if (!size)
        return;
    const size_t available = ze::usm_bytes_from(dev, handle);
    if (!available && !dev.host_pointers)
        fail(zemm_invalid_arguments,
             "handle %p is no USM pointer of the engine's context, and device \"%s\" reads no ordinary host "
             "memory",
             handle, dev.name.c_str());
    if (available && available < size)
        fail(zemm_invalid_arguments,
             "memory too small: the USM allocation has %zu bytes from handle %p on, the descriptor needs %zu",
             available, handle, size);
}

zemm_memory::part make_part(const std::shared_ptr<ze::device> &dev, size_t size, void *handle) {
    zemm_memory::part part;
    if (handle == ZEMM_MEMORY_ALLOCATE) {
        // On a CPU device use host memory, so that mapping needs no copy.
        part.owned =
            std::make_shared<ze::buffer>(dev, size, dev->host_pointers ? ze::usm::host : ze::usm::device);
        part.handle = part.owned->data();
    } else {
        if (handle)
            check_handle(*dev, handle, size);
        part.handle = handle;
    }
    return part;
}

// every_part: one handle that is ALLOCATE or NONE stands for all buffers of the descriptor.
zemm_memory_t make_memory(const_zemm_memory_desc_t md, zemm_engine_t engine, int nhandles,
                          void *const *handles, bool every_part) {
    static const memory_desc zero_md;
    const memory_desc &desc = md ? *md : zero_md;
    if (desc.format_kind == zemm_format_kind_any)
        fail(zemm_invalid_arguments, "md has the format any: a memory needs a layout");
    if (desc.format_kind == zemm_format_kind_host_scalar)
        fail(zemm_invalid_arguments, "md is a host scalar: use zemm_memory_create_host_scalar");
    if (desc.format_kind == zemm_format_kind_sparse && desc.encoding == zemm_packed &&
        !md_has_packed_layout(desc))
        fail(zemm_invalid_arguments,
             "md has the packed encoding without a layout: a matmul that takes it gives the layout "
             "(zemm_query_weights_md)");
    if (md_has_runtime(desc))
        fail(zemm_invalid_arguments,
             "md has dimensions, strides or an offset that are known at run time only");
    const int needed = std::max(1, md_num_handles(desc));
    if (nhandles != needed && !every_part)
        fail(zemm_invalid_arguments, "nhandles is %d, but the descriptor has %d buffer%s", nhandles, needed,
             needed == 1 ? "" : "s");
    if (nhandles != needed && handles[0] != ZEMM_MEMORY_NONE && handles[0] != ZEMM_MEMORY_ALLOCATE)
        fail(zemm_invalid_arguments, "one handle for a descriptor with %d buffers: use zemm_memory_create_v2",
             needed);
    auto memory = std::make_unique<zemm_memory>();
    memory->md = desc;
    memory->engine = engine->shared_from_this();
    for (int i = 0; i < needed; i++)
        memory->parts.push_back(
            make_part(engine->device, md_size(desc, i), handles[nhandles == needed ? i : 0]));
    return memory.release();
}

// The buffer at index; invalid_arguments if memory is NULL, a host scalar, or has no such buffer.
template <typename Memory> auto &part_of(Memory *memory, int index) {
    require(memory, "memory");
    if (!memory->engine)
        fail(zemm_invalid_arguments,
             "memory is a host scalar: it has no buffer, use zemm_memory_get_host_scalar_value and _set_");
    if (index < 0 || static_cast<size_t>(index) >= memory->parts.size())
        fail(zemm_invalid_arguments, "index is %d, but the memory has %zu buffer%s", index,
             memory->parts.size(), memory->parts.size() == 1 ? "" : "s");
    return memory->parts[index];
}

// Whether index is the value of a host scalar, which maps like a buffer.
bool is_scalar(const_zemm_memory_t memory, int index) {
    require(memory, "memory");
    return !memory->engine && index == 0;
}

void *map(const zemm_memory &memory, const zemm_memory::part &part, size_t size) {
    const std::lock_guard hold(memory.mapping_lock);
    if (!part.handle || !size)
        return nullptr;
    ze::device &dev = *memory.engine->device;
    void *pointer = part.handle;
    if (part.mapping || !ze::host_reads(dev, part.handle)) {
        if (!part.mapping) {
            auto copy = std::make_unique_for_overwrite<char[]>(size);
            ze::copy_now(dev, copy.get(), part.handle, size);
            part.mapping = std::move(copy);
        }
        pointer = part.mapping.get();
    }
    part.maps++;
    return pointer;
}

// A CPU engine maps the buffer itself, so that there is nothing to write back. Whatever the pointer is, it
// is not looked at, as in oneDNN.
void unmap(const zemm_memory &memory, const zemm_memory::part &part, void *pointer, size_t size) {
    const std::lock_guard hold(memory.mapping_lock);
    if (memory.engine->kind == zemm_cpu) {
        part.maps = std::max(0, part.maps - 1);
        return;
    }
    if (!pointer && (!part.handle || !size))
        return; // map() gave nullptr because there is nothing to map
    const void *mapped = part.mapping ? part.mapping.get() : part.handle;
    if (!part.maps || pointer != mapped)
        fail(zemm_invalid_arguments, "mapped_ptr %p is not what zemm_memory_map_data gave for this memory",
             pointer);
    if (part.mapping)
        ze::copy_now(*memory.engine->device, part.handle, pointer, size);
    if (--part.maps == 0)
        part.mapping.reset();
}

// The memory if it is a host scalar, else invalid_arguments; also if value is NULL.
template <typename Memory> Memory &scalar_of(Memory *memory, const void *value) {
    REQUIRE(memory, value);
    if (memory->engine)
        fail(zemm_invalid_arguments, "memory is no host scalar");
    return *memory;
}

} // namespace

zemm_status_t zemm_memory_create(zemm_memory_t *memory, const_zemm_memory_desc_t md, zemm_engine_t engine,
                                 void *handle) {
    return guard([&] {
        REQUIRE(memory, engine);
        *memory = make_memory(md, engine, 1, &handle, true);
    });
}

zemm_status_t zemm_memory_create_v2(zemm_memory_t *memory, const_zemm_memory_desc_t md, zemm_engine_t engine,
                                    int nhandles, void **handles) {
    return guard([&] {
        REQUIRE(memory, engine, handles);
        *memory = make_memory(md, engine, nhandles, handles, false);
    });
}

zemm_status_t zemm_memory_create_host_scalar(zemm_memory_t *memory, const_zemm_memory_desc_t md,
                                             void *value) {
    return guard([&] {
        REQUIRE(memory, md, value);
        if (md->format_kind != zemm_format_kind_host_scalar)
            fail(zemm_invalid_arguments, "md is no host scalar: see zemm_memory_desc_create_host_scalar");
        auto scalar = std::make_unique<zemm_memory>();
        scalar->md = *md;
        std::memcpy(scalar->scalar, value, scalar_bytes(*md));
        *memory = scalar.release();
    });
}

zemm_status_t zemm_memory_get_memory_desc(const_zemm_memory_t memory, const_zemm_memory_desc_t *md) {
    return guard([&] {
        REQUIRE(memory, md);
        *md = &memory->md;
    });
}

zemm_status_t zemm_memory_get_engine(const_zemm_memory_t memory, zemm_engine_t *engine) {
    return guard([&] {
        REQUIRE(memory, engine);
        *engine = memory->engine.get();
    });
}

zemm_status_t zemm_memory_map_data(const_zemm_memory_t memory, void **mapped_ptr) {
    return zemm_memory_map_data_v2(memory, mapped_ptr, 0);
}

zemm_status_t zemm_memory_unmap_data(const_zemm_memory_t memory, void *mapped_ptr) {
    return zemm_memory_unmap_data_v2(memory, mapped_ptr, 0);
}

zemm_status_t zemm_memory_map_data_v2(const_zemm_memory_t memory, void **mapped_ptr, int index) {
    return guard([&] {
        if (is_scalar(memory, index)) {
            require(mapped_ptr, "mapped_ptr");
            *mapped_ptr = memory->scalar;
            return;
        }
        const auto &part = part_of(memory, index);
        require(mapped_ptr, "mapped_ptr");
        *mapped_ptr = map(*memory, part, md_size(memory->md, index));
    });
}

zemm_status_t zemm_memory_unmap_data_v2(const_zemm_memory_t memory, void *mapped_ptr, int index) {
    return guard([&] {
        if (is_scalar(memory, index))
            return; // its value was mapped itself, so there is nothing to write back
        const auto &part = part_of(memory, index);
        unmap(*memory, part, mapped_ptr, md_size(memory->md, index));
    });
}

zemm_status_t zemm_memory_get_data_handle(const_zemm_memory_t memory, void **handle) {
    return zemm_memory_get_data_handle_v2(memory, handle, 0);
}

zemm_status_t zemm_memory_set_data_handle(zemm_memory_t memory, void *handle) {
    return zemm_memory_set_data_handle_v2(memory, handle, 0);
}

zemm_status_t zemm_memory_get_data_handle_v2(const_zemm_memory_t memory, void **handle, int index) {
    return guard([&] {
        const auto &part = part_of(memory, index);
        require(handle, "handle");
        const std::lock_guard hold(memory->mapping_lock);
        *handle = part.handle;
    });
}

zemm_status_t zemm_memory_set_data_handle_v2(zemm_memory_t memory, void *handle, int index) {
    return guard([&] {
        auto &part = part_of(memory, index);
        if (handle == ZEMM_MEMORY_ALLOCATE)
            fail(zemm_invalid_arguments,
                 "handle is ZEMM_MEMORY_ALLOCATE, which is for the creation of a memory");
        const std::lock_guard hold(memory->mapping_lock);
        if (handle == part.handle)
            return; // it may be the buffer that the library allocated, which must not be freed
        if (part.maps)
            fail(zemm_invalid_arguments, "the memory is mapped: unmap it before it gets another handle");
        part = make_part(memory->engine->device, md_size(memory->md, index), handle);
    });
}

zemm_status_t zemm_memory_get_host_scalar_value(const_zemm_memory_t memory, void *value) {
    return guard([&] {
        const zemm_memory &scalar = scalar_of(memory, value);
        std::memcpy(value, scalar.scalar, scalar_bytes(scalar.md));
    });
}

zemm_status_t zemm_memory_set_host_scalar_value(zemm_memory_t memory, const void *value) {
    return guard([&] {
        zemm_memory &scalar = scalar_of(memory, value);
        std::memcpy(scalar.scalar, value, scalar_bytes(scalar.md));
    });
}

zemm_status_t zemm_memory_destroy(zemm_memory_t memory) {
    return guard([&] { delete memory; });
}
