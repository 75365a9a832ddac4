// SPDX-License-Identifier: Apache-2.0
// Entry point of the measurement of a device's peak.
#include "peak/peak.hpp"

#include "common/guard.hpp"
#include "primitive/objects.hpp"
#include "zemm/zemm.h"

using namespace zemm;

zemm_status_t zemm_engine_measure_peak(zemm_engine_t engine, zemm_peak_t what, double *value) {
    return guard([&] {
        REQUIRE(engine, value);
        *value = peak::measure(engine->device, what);
    });
}
