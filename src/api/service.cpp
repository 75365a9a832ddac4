// SPDX-License-Identifier: Apache-2.0
// Entry points for the last error, the version and the settings of the whole process.
#include "api/give_bytes.hpp"
#include "common/attr.hpp"
#include "common/guard.hpp"
#include "common/verbose.hpp"
#include "common/version.hpp"
#include "primitive/primitive_cache.hpp"
#include "ze/cache_folder.hpp"
#include "ze/cpu_threads.hpp"
#include "zemm/zemm.h"

using namespace zemm;

const char *zemm_last_error(void) {
    return last_error();
}

const zemm_version_t *zemm_version(void) {
    return &version();
}

zemm_status_t zemm_set_verbose(int level) {
    return guard([&] { verbose::set_level(level); });
}

zemm_status_t zemm_get_primitive_cache_capacity(int *capacity) {
    return guard([&] {
        require(capacity, "capacity");
        *capacity = primitive_cache_capacity();
    });
}

zemm_status_t zemm_set_primitive_cache_capacity(int capacity) {
    return guard([&] { set_primitive_cache_capacity(capacity); });
}

zemm_status_t zemm_get_num_threads(int *num_threads) {
    return guard([&] {
        require(num_threads, "num_threads");
        *num_threads = ze::cpu_threads();
    });
}

zemm_status_t zemm_set_num_threads(int num_threads) {
    return guard([&] { ze::set_cpu_threads(num_threads); });
}

zemm_status_t zemm_get_cache_folder(size_t *size, char *folder) {
    return guard([&] {
        require(size, "size");
        give_text(ze::cache_folder_path(), size, folder, "folder");
    });
}

zemm_status_t zemm_get_default_fpmath_mode(zemm_fpmath_mode_t *mode) {
    return guard([&] {
        require(mode, "mode");
        *mode = default_fpmath_mode();
    });
}

zemm_status_t zemm_set_default_fpmath_mode(zemm_fpmath_mode_t mode) {
    return guard([&] { set_default_fpmath_mode(mode); });
}
