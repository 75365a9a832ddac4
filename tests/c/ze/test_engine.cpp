// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "zemm_test.hpp"

// Creates all engines of a kind. A kind without devices is allowed; creation then fails with a reason.
TEST(kinds) {
    for (const zemm_engine_kind_t kind : {zemm_cpu, zemm_gpu}) {
        const size_t count = zemm_engine_get_count(kind);
        zemm_engine_t untouched = nullptr;
        for (const size_t missing : {count, SIZE_MAX}) {
            INVALID("", zemm_engine_create(&untouched, kind, missing));
            CHECK(!untouched && std::strlen(zemm_last_error()) > 20);
        }
        for (size_t i = 0; i < count; i++) {
            const auto engine = made(zemm_engine_create, kind, i), second = made(zemm_engine_create, kind, i);
            const std::string name = got(zemm_engine_get_name, engine),
                              model = got(zemm_engine_get_model, second);
            CHECK(engine != second && got(zemm_engine_get_kind, engine) == kind);
            CHECK(!name.empty() && got(zemm_engine_get_name, second) == name);
            CHECK(got(zemm_engine_get_features, second));
            CHECK(model.empty() == (kind == zemm_cpu));
        }
    }
}

TEST(no_kinds) {
    zemm_engine_t none = nullptr;
    for (const zemm_engine_kind_t kind : {zemm_any_engine, zemm_engine_kind_t(7)}) {
        CHECK(zemm_engine_get_count(kind) == 0);
        INVALID(kind == zemm_any_engine ? "" : "7", zemm_engine_create(&none, kind, 0));
    }
    CHECK(!none);
    OK(zemm_engine_destroy(nullptr));
}
