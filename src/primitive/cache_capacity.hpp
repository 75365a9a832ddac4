// SPDX-License-Identifier: Apache-2.0
// How many primitives the process keeps. The cache itself lives with the primitives.
#pragma once

namespace zemm {

int primitive_cache_capacity();
// Negative: invalid_arguments.
void set_primitive_cache_capacity(int capacity);
// The callback runs with each new capacity, in the thread that sets it, so that the cache can evict at once.
void on_cache_capacity_change(void (*callback)(int capacity));

} // namespace zemm
