// SPDX-License-Identifier: Apache-2.0
//
// Attributes of atomic access, which programs set for ranges of memory. They change nothing: host and device
// have the same atomics on all memory.
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>

#include "border/border.h"
#include "border/entry_points.h"
#include "border/refusal.h"
#include "memory.h"

namespace ze_cpu {
namespace {

struct Range {
    uintptr_t begin, end;
};

/// Attributes by ranges of addresses; 0 where nobody has set any.
class AttributeMap {
public:
    void set(Range range, uint32_t attributes) {
        std::unique_lock lock(mutex_);
        cut(range.begin);
        cut(range.end);
        const auto others =
            attributes ? std::next(spans_.insert_or_assign(range.begin, Span{range.end, attributes}).first)
                       : spans_.lower_bound(range.begin);
        spans_.erase(others, spans_.lower_bound(range.end));
    }

    /// The attributes that all of the range has; nothing if its parts have different ones.
    std::optional<uint32_t> get(Range range) {
        std::shared_lock lock(mutex_);
        const Span first = from(range.begin);
        for (uintptr_t at = first.end; at < range.end;) {
            const Span next = from(at);
            if (next.attributes != first.attributes)
                return {};
            at = next.end;
        }
        return first.attributes;
    }

    /// Whether no attributes are set anywhere. Then there is nothing to forget.
    bool is_empty() {
        std::shared_lock lock(mutex_);
        return spans_.empty();
    }

private:
    struct Span {
        uintptr_t end;
        uint32_t attributes;
    };

    /// Makes a span begin at this address, if it is inside of one.
    void cut(uintptr_t address) {
        const auto span = entry_below(spans_, address);
        if (span == spans_.end() || span->first == address || span->second.end <= address)
            return;
        spans_[address] = span->second;
        span->second.end = address;
    }

    /// The attributes from this address on, and where they end.
    Span from(uintptr_t address) const {
        const auto span = entry_below(spans_, address);
        if (span != spans_.end() && address < span->second.end)
            return span->second;
        const auto after = spans_.upper_bound(address);
        return {after == spans_.end() ? UINTPTR_MAX : after->first, 0};
    }

    std::shared_mutex mutex_;
    std::map<uintptr_t, Span> spans_; // by first address
};

AttributeMap &attribute_map() {
    // Leaked: static destructors of the program may free memory.
    static AttributeMap *leaked = new AttributeMap;
    return *leaked;
}

/// Checks a range: it is part of one shared allocation, or memory that is not of this driver. Throws
/// ze_result_t.
Range check_range(const void *pointer, size_t size) {
    const auto begin = reinterpret_cast<uintptr_t>(pointer);
    if (size == 0 || size > UINTPTR_MAX - begin)
        throw refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "attributes of atomic access need a range of at least one byte that ends inside of the "
                     "address space");
    Allocation found;
    if (find_allocation(pointer, found)) {
        if (found.type != ZE_MEMORY_TYPE_SHARED)
            throw refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                         "host and device memory has no attributes of atomic access, shared memory has");
        if (size > found.size - (begin - found.base))
            throw refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                         "the range of atomic access is longer than the rest of its allocation");
    }
    return {begin, begin + size};
}

/// Refuses attributes that allow and forbid the same atomics.
void check_attributes(uint32_t attributes) {
    if (attributes > atomic_all)
        throw ZE_RESULT_ERROR_INVALID_ENUMERATION;
    const uint32_t allowed = attributes & atomic_allowing; // the bit below each forbids the same
    if ((attributes & atomic_none && allowed) || (attributes & (allowed >> 1)))
        throw refuse(
            ZE_RESULT_ERROR_INVALID_ARGUMENT,
            "the attributes of atomic access both allow and forbid atomics of the host, of the device "
            "or of both");
}

} // namespace

void forget_atomic_access(uintptr_t base, size_t size) noexcept {
    try {
        if (!attribute_map().is_empty())
            attribute_map().set({base, base + size}, 0);
    } catch (const std::bad_alloc &) {
        // They stay. Nothing depends on them.
    }
}

ze_result_t zeMemSetAtomicAccessAttributeExp(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                             const void *ptr, size_t size, uint32_t attr) {
    need_handles(hContext, hDevice);
    need_pointers(ptr);
    check_attributes(attr);
    attribute_map().set(check_range(ptr, size), attr);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zeMemGetAtomicAccessAttributeExp(ze_context_handle_t hContext, ze_device_handle_t hDevice,
                                             const void *ptr, size_t size, uint32_t *pAttr) {
    need_handles(hContext, hDevice);
    need_pointers(ptr, pAttr);
    const std::optional<uint32_t> attributes = attribute_map().get(check_range(ptr, size));
    if (!attributes)
        return refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                      "parts of the range have different attributes of atomic access: ask for each part");
    *pAttr = *attributes;
    return ZE_RESULT_SUCCESS;
}

} // namespace ze_cpu
