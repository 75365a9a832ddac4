// SPDX-License-Identifier: Apache-2.0
// Common parts of the two providers of Level Zero functions: the loader (loader.cpp) and
// libze_cpu.so (cpu_driver.cpp).
#pragma once

#include <string>

#include "ze/api.hpp"
#include "ze/settled.hpp"

namespace zemm::ze {

// The result of one attempt to open a provider.
struct provider {
    api functions;
    bool usable = false;
    absence missing;    // the reason if it is not usable
    bool lasts = false; // the result is final, see `settled`

    void succeed() { usable = lasts = true; }
    void fail(zemm_status_t status, std::string sentence) {
        missing = {status, std::move(sentence)};
        lasts = missing.lasts();
    }
    // The functions; nullptr, with the reason in why, if there are none. `settled` keeps a usable
    // provider for ever, so that the pointer stays valid.
    const api *answer(absence &why) const {
        if (!usable)
            why = missing;
        return usable ? &functions : nullptr;
    }
};

// The name of the first function of ZEMM_ZE_FUNCTIONS that is not there; nullptr if all are.
const char *first_missing(const api &fn);
// Returns dlerror() and the status that an absence for this reason has. Call it directly after a
// failed dlopen().
std::string dl_reason(zemm_status_t &status);
// The status that an absence has if a provider's zeInit() failed with this result.
zemm_status_t status_of_init(ze_result_t result);
// Fills fn from a driver's DDI tables, as the loader does. Returns the name of a missing function,
// "" if none is.
std::string read_tables(void *library, api &fn);

} // namespace zemm::ze
