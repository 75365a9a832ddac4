// SPDX-License-Identifier: Apache-2.0
// Included before each source of llama.cpp (build.py), for CPUs with AMX: GCC 12 believes that
// _tile_loadconfig reads 8 of a configuration's 64 bytes and drops the stores of the others, so that ggml's
// first load of a tile is an illegal instruction.
#ifdef __AMX_TILE__
#include <immintrin.h>

#define _tile_loadconfig(configuration)                                                                      \
    do {                                                                                                     \
        const void *whole = (configuration);                                                                 \
        __asm__ volatile("" ::"r"(whole) : "memory");                                                        \
        _tile_loadconfig(whole);                                                                             \
    } while (0)
#endif
