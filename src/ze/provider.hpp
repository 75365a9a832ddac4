// SPDX-License-Identifier: Apache-2.0
// What the two providers of Level Zero functions share.
#pragma once

#include <string>

#include "ze/api.hpp"
#include "ze/settled.hpp"

namespace zemm::ze {

// What one attempt to open a provider came to.
struct provider {
    api functions;
    bool usable = false;
    absence missing; // unless usable
    bool lasts = false;

    void succeed() { usable = lasts = true; }
    void fail(zemm_status_t status, std::string sentence) {
        missing = {status, std::move(sentence)};
        lasts = missing.lasts();
    }
    // The functions, or nullptr and why not. Called on what settled keeps, so that the functions stay.
    const api *answer(absence &why) const {
        if (!usable)
            why = missing;
        return usable ? &functions : nullptr;
    }
};

// The first function that every driver must have and this one has not; nullptr if all are there.
const char *first_missing(const api &fn);
// dlerror() and the status of an absence for it; call it right after a failed dlopen().
std::string dl_reason(zemm_status_t &status);
// The same for the result of a provider's zeInit().
zemm_status_t status_of_init(ze_result_t result);
// Fills fn from a driver's DDI tables, which is what the loader itself reads; returns what is missing or "".
std::string read_tables(void *library, api &fn);

} // namespace zemm::ze
