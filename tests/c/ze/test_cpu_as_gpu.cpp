// SPDX-License-Identifier: Apache-2.0
// With ZE_CPU_AS_GPU=1, which meson sets, the CPU device reports that it is a GPU. zemm still treats it as a
// CPU.
#include <cstring>

#include "zemm_test.hpp"

TEST(is_a_cpu) {
    for (size_t i = 0; i < zemm_engine_get_count(zemm_gpu); i++) // GPUs, if there are any, are real ones
        CHECK(!std::strstr(got(zemm_engine_get_features, made(zemm_engine_create, zemm_gpu, i)), "avx"));
    CHECK(got(zemm_engine_get_kind, cpu()) == zemm_cpu);
    CHECK(!*got(zemm_engine_get_model, cpu()));
}
