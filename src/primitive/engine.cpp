// SPDX-License-Identifier: Apache-2.0
// Lifetime of engines.
#include "primitive/objects.hpp"

#include "primitive/primitive_cache.hpp"

zemm_engine::zemm_engine(std::shared_ptr<zemm::ze::device> dev)
    : device(std::move(dev)), kind(device->kind) {}

// Forgets again: primitives made after destroy() are also in the cache.
zemm_engine::~zemm_engine() {
    forget_cached();
}

zemm_engine_t zemm_engine::create(std::shared_ptr<zemm::ze::device> dev) {
    auto engine = std::make_shared<zemm_engine>(std::move(dev));
    engine->handle_ = engine;
    return engine.get();
}

void zemm_engine::destroy() {
    forget_cached();
    const auto last = std::move(handle_);
}

// An interop caller may destroy its Level Zero context next, so the cache must not keep objects of
// that context.
void zemm_engine::forget_cached() const {
    if (device->adopted())
        zemm::forget_cached(*device);
}
