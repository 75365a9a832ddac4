// SPDX-License-Identifier: Apache-2.0
// Entry points of engines.
#include "common/guard.hpp"
#include "primitive/objects.hpp"
#include "zemm/zemm.h"

using namespace zemm;

size_t zemm_engine_get_count(zemm_engine_kind_t kind) {
    size_t count = 0;
    guard([&] {
        std::string why;
        count = ze::device_count(kind, why);
    });
    return count;
}

zemm_status_t zemm_engine_create(zemm_engine_t *engine, zemm_engine_kind_t kind, size_t index) {
    return guard([&] {
        require(engine, "engine");
        *engine = zemm_engine::create(ze::open_device(kind, index));
    });
}

zemm_status_t zemm_engine_get_kind(zemm_engine_t engine, zemm_engine_kind_t *kind) {
    return guard([&] {
        REQUIRE(engine, kind);
        *kind = engine->kind;
    });
}

zemm_status_t zemm_engine_get_name(zemm_engine_t engine, const char **name) {
    return guard([&] {
        REQUIRE(engine, name);
        *name = engine->device->name.c_str();
    });
}

zemm_status_t zemm_engine_get_features(zemm_engine_t engine, const char **features) {
    return guard([&] {
        REQUIRE(engine, features);
        *features = engine->device->feature_names.c_str();
    });
}

zemm_status_t zemm_engine_get_model(zemm_engine_t engine, const char **model) {
    return guard([&] {
        REQUIRE(engine, model);
        *model = engine->device->model_text.c_str();
    });
}

zemm_status_t zemm_engine_destroy(zemm_engine_t engine) {
    return guard([&] {
        if (engine)
            engine->destroy();
    });
}
