// SPDX-License-Identifier: Apache-2.0
// The primitive cache: keeps the parts that primitives of equal problems share. Beyond its
// capacity, it drops the least recently used ones.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/attr.hpp"
#include "ze/device.hpp"

struct zemm_primitive_desc;

namespace zemm {

// Where the kernels of a new primitive came from, the slowest first. The log shows it.
enum class cache_result { miss, persistent_hit, hit };

// An entry of the cache. Each kind of primitive derives its own.
struct cached {
    explicit cached(std::shared_ptr<ze::device> dev) : device(std::move(dev)) {}
    virtual ~cached() = default;
    const std::shared_ptr<ze::device> device;
    bool from_disk = false; // no kernel was built: all came from the disk cache
};

// Tensors and attributes as a part of a key. Different ones have different bytes.
std::string key_bytes(const std::vector<const memory_desc *> &tensors, const zemm_primitive_attr &attr);

// Finds the part for the descriptor's implementation, attributes and tensors in the cache. If it is
// not there, calls build() and keeps the result. where: set to where the kernels came from.
std::shared_ptr<const cached> get_compiled(const zemm_primitive_desc &pd, cache_result &where,
                                           const std::function<std::shared_ptr<const cached>()> &build);
// Whether the cache has that part.
bool is_compiled(const zemm_primitive_desc &pd);
// The number of entries.
size_t count_cached();
// The decision that descriptors of one problem share; nullptr if the cache does not have it. key: of the
// device and all that the decision depends on.
std::shared_ptr<const cached> find_decision(const std::string &key);
// Keeps it and returns it, or the one that another thread has kept meanwhile.
std::shared_ptr<const cached> keep_decision(const std::string &key, std::shared_ptr<const cached> made);
// Drops the entries of a device whose context may be destroyed next.
void forget_cached(const ze::device &device);

// The capacity, in primitives.
int primitive_cache_capacity();
// Throws invalid_arguments if the capacity is negative.
void set_primitive_cache_capacity(int capacity);
// Sets the capacity, but keeps the surplus until the next entry is added; a capacity of 0 only turns
// the cache off. Returns the capacity before. Throws as above.
int replace_cache_capacity(int capacity);
// Sets the function that runs after each change, in the thread that makes it. The cache evicts its
// surplus there.
void on_cache_capacity_change(void (*callback)(int capacity));

} // namespace zemm
