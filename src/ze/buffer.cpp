// SPDX-License-Identifier: Apache-2.0
// Allocates USM, asks the driver about pointers, and copies through a synchronous command list.
#include "ze/buffer.hpp"

#include "common/error.hpp"

namespace zemm::ze {
namespace {

constexpr size_t alignment = 64; // a cache line, and the widest vector of a CPU

ze_memory_type_t type_of(const device &dev, const void *pointer) {
    auto properties =
        structure<ze_memory_allocation_properties_t>(ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES);
    if (dev.fn.zeMemGetAllocProperties(dev.context, pointer, &properties, nullptr) != ZE_RESULT_SUCCESS)
        return ZE_MEMORY_TYPE_UNKNOWN;
    return properties.type;
}

} // namespace

buffer::buffer(std::shared_ptr<device> dev, size_t size, usm kind) : device_(std::move(dev)), size_(size) {
    if (!size)
        return;
    const device &d = *device_;
    // An allocation above the device's limit (4 GB on Intel GPUs) fails unless this structure asks
    // for it.
    auto relaxed = structure<ze_relaxed_allocation_limits_exp_desc_t>(
        ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC);
    relaxed.flags = ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE;
    const void *next = d.max_allocation && size > d.max_allocation ? &relaxed : nullptr;
    ze_result_t result;
    if (kind == usm::host) {
        auto desc = structure<ze_host_mem_alloc_desc_t>(ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC);
        desc.pNext = next;
        result = d.fn.zeMemAllocHost(d.context, &desc, size, alignment, &data_);
    } else {
        auto desc = structure<ze_device_mem_alloc_desc_t>(ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC);
        desc.pNext = next;
        result = d.fn.zeMemAllocDevice(d.context, &desc, size, alignment, d.handle, &data_);
    }
    // Drivers answer with various results when memory is short, so every failure counts as out of
    // memory.
    if (result != ZE_RESULT_SUCCESS || !data_)
        fail(zemm_out_of_memory, "%zu bytes of %s memory on device \"%s\": %s returned %s", size,
             kind == usm::host ? "host" : "device", d.name.c_str(),
             kind == usm::host ? "zeMemAllocHost" : "zeMemAllocDevice", result_text(result));
}

buffer::~buffer() {
    if (data_)
        device_->fn.zeMemFree(device_->context, data_);
}

size_t usm_bytes_from(const device &dev, const void *pointer) {
    if (type_of(dev, pointer) == ZE_MEMORY_TYPE_UNKNOWN)
        return 0;
    void *base = nullptr;
    size_t size = 0;
    if (dev.fn.zeMemGetAddressRange(dev.context, pointer, &base, &size) != ZE_RESULT_SUCCESS)
        return 0;
    const size_t offset = static_cast<size_t>(static_cast<const char *>(pointer) - static_cast<char *>(base));
    return offset < size ? size - offset : 0;
}

bool host_reads(const device &dev, const void *pointer) {
    return dev.kind == zemm_cpu || type_of(dev, pointer) != ZE_MEMORY_TYPE_DEVICE;
}

void copy_now(device &dev, void *to, const void *from, size_t size) {
    if (!size)
        return;
    std::lock_guard hold(dev.copy_lock);
    if (!dev.copy_list) {
        auto desc = structure<ze_command_queue_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
        desc.ordinal = dev.compute_queue_ordinal;
        desc.mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS; // the append returns when the copy is done
        ze_command_list_handle_t list = nullptr;
        check(dev.fn.zeCommandListCreateImmediate(dev.context, dev.handle, &desc, &list),
              "zeCommandListCreateImmediate");
        dev.copy_list = {dev.fn, list};
    }
    check(dev.fn.zeCommandListAppendMemoryCopy(dev.copy_list.get(), to, from, size, nullptr, 0, nullptr),
          "zeCommandListAppendMemoryCopy");
}

std::unique_ptr<buffer> copy_for_kernels(const std::shared_ptr<device> &dev, const void *data, size_t size) {
    auto copy = std::make_unique<buffer>(dev, size, dev->host_pointers ? usm::host : usm::device);
    copy_now(*dev, copy->data(), data, size);
    return copy;
}

} // namespace zemm::ze
