/* SPDX-License-Identifier: Apache-2.0 */
/* With ZE_CPU_AS_GPU=1, which meson sets, the CPU device reports that it is a GPU. zemm still
 * treats it as a CPU. */
#include <string.h>

#include "refusals.h"

int main(void) {
    const size_t gpus = zemm_engine_get_count(zemm_gpu);
    for (size_t i = 0; i < gpus; i++) { /* GPUs, if there are any, are real ones */
        zemm_engine_t engine = NULL;
        const char *features = NULL;
        OK(zemm_engine_create(&engine, zemm_gpu, i));
        CHECK(zemm_engine_get_features(engine, &features) == zemm_success && !strstr(features, "avx"));
        OK(zemm_engine_destroy(engine));
    }
    zemm_engine_t engine = NULL;
    zemm_engine_kind_t kind = zemm_any_engine;
    const char *model = NULL;
    if (zemm_engine_create(&engine, zemm_cpu, 0) != zemm_success &&
        strstr(zemm_last_error(), "intel-opencl-rt")) {
        printf("skipped: %s\n", zemm_last_error());
        return SKIP;
    }
    CHECK(engine);
    CHECK(zemm_engine_get_kind(engine, &kind) == zemm_success && kind == zemm_cpu);
    CHECK(zemm_engine_get_model(engine, &model) == zemm_success && model[0] == 0);
    OK(zemm_engine_destroy(engine));
    return 0;
}
