// SPDX-License-Identifier: Apache-2.0
// Undocumented C++ functions of oneDNN's library, with which its test programs look into the primitive
// cache. The names of the structs are part of the functions' names.
#include <algorithm>
#include <climits>

#include "api/compat.hpp"

struct dnnl_primitive_desc;
struct dnnl_primitive;

int ZEMM_API dnnl_test_is_pd_in_cache(const dnnl_primitive_desc *pd) {
    return zemm_compat_is_cached(reinterpret_cast<const_zemm_primitive_desc_t>(pd));
}

int ZEMM_API dnnl_test_is_primitive_in_cache(const dnnl_primitive *primitive) {
    const_zemm_primitive_desc_t pd = nullptr;
    zemm_primitive_get_primitive_desc(reinterpret_cast<const_zemm_primitive_t>(primitive), &pd);
    return zemm_compat_is_cached(pd);
}

zemm_status_t ZEMM_API dnnl_test_get_primitive_cache_size(int *size) {
    if (!size)
        return zemm_compat_refuse(zemm_invalid_arguments, "size is NULL");
    *size = zemm_compat_count_cached();
    return zemm_success;
}

// Returns the capacity before.
size_t ZEMM_API dnnl_test_set_primitive_cache_capacity_without_clearing(size_t capacity) {
    int before = 0;
    zemm_compat_replace_cache_capacity(int(std::min<size_t>(capacity, INT_MAX)), &before);
    return size_t(before);
}
