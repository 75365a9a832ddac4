// SPDX-License-Identifier: Apache-2.0
// The capacity of the primitive cache, in primitives. primitive_cache.cpp has the cache itself.
#pragma once

namespace zemm {

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
