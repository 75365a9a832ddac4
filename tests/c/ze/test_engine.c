/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "destroy.h"

/* Creates all engines of a kind. A kind without devices is allowed; creation then fails with a
 * reason. */
static void test_kind(zemm_engine_kind_t kind) {
    const size_t count = zemm_engine_get_count(kind);
    zemm_engine_t engine = (zemm_engine_t)&count;
    printf("%s: %zu\n", zemm_engine_kind2str(kind), count);
    if (!count) {
        CHECK(zemm_engine_create(&engine, kind, 0) == zemm_invalid_arguments);
        CHECK(engine == (zemm_engine_t)&count); /* outputs are not changed */
        CHECK(strlen(zemm_last_error()) > 20);
        printf("  %s\n", zemm_last_error());
        return;
    }
    CHECK(zemm_engine_create(&engine, kind, count) == zemm_invalid_arguments);
    CHECK(engine == (zemm_engine_t)&count);
    printf("  %s\n", zemm_last_error());
    CHECK(zemm_engine_create(&engine, kind, (size_t)-1) == zemm_invalid_arguments);
    for (size_t i = 0; i < count; i++) {
        zemm_engine_t second = NULL;
        zemm_engine_kind_t got = zemm_any_engine;
        OK(zemm_engine_create(&engine, kind, i));
        OK(zemm_engine_create(&second, kind, i));
        CHECK(engine != second);
        CHECK(zemm_engine_get_kind(engine, &got) == zemm_success && got == kind);
        const char *name = NULL, *same_name = NULL;
        CHECK(zemm_engine_get_name(engine, &name) == zemm_success && name && name[0]);
        CHECK(zemm_engine_get_name(second, &same_name) == zemm_success && strcmp(name, same_name) == 0);
        const char *features = NULL;
        CHECK(zemm_engine_get_features(second, &features) == zemm_success && features);
        const char *model = NULL;
        CHECK(zemm_engine_get_model(second, &model) == zemm_success && model);
        CHECK((model[0] != 0) == (kind == zemm_gpu));
        printf("  features: %s\n", features);
        DESTROY(engine, second);
    }
}

int main(void) {
    zemm_engine_t engine = NULL;
    test_kind(zemm_cpu);
    test_kind(zemm_gpu);
    CHECK(zemm_engine_get_count(zemm_any_engine) == 0);
    CHECK(zemm_engine_get_count((zemm_engine_kind_t)7) == 0);
    CHECK(zemm_engine_create(&engine, zemm_any_engine, 0) == zemm_invalid_arguments);
    CHECK(zemm_engine_create(&engine, (zemm_engine_kind_t)7, 0) == zemm_invalid_arguments);
    CHECK(strstr(zemm_last_error(), "7") != NULL);
    OK(zemm_engine_destroy(NULL));
    return 0;
}
