// SPDX-License-Identifier: Apache-2.0
// What the two providers of Level Zero functions share.
#pragma once

#include <string>

#include "ze/api.hpp"

namespace zemm::ze {

// What one attempt to open a provider came to. Kept for the life of the process and never destroyed: objects
// may outlive every static destructor.
struct provider {
    api functions;
    bool usable = false;
    std::string why;

    const api *answer(std::string &reason) const {
        if (usable)
            return &functions;
        reason = why;
        return nullptr;
    }
};

// The first function that every driver must have and this one has not; nullptr if all are there.
const char *first_missing(const api &fn);
// dlerror() that is never NULL.
std::string dl_reason();
// Fills fn from a driver's DDI tables, which is what the loader itself reads; returns what is missing or "".
std::string read_tables(void *library, api &fn);

} // namespace zemm::ze
