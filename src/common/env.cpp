// SPDX-License-Identifier: Apache-2.0
// Reads environment variables.
#include "common/env.hpp"

#include <algorithm>
#include <cstdlib>

namespace zemm {

std::string env(const char *name) {
    const char *value = std::getenv(name);
    return value ? value : "";
}

std::vector<std::string> comma_list(const std::string &text) {
    std::vector<std::string> parts;
    size_t start = 0;
    while (start <= text.size()) {
        const size_t end = std::min(text.find(',', start), text.size());
        if (end > start)
            parts.push_back(text.substr(start, end - start));
        start = end + 1;
    }
    return parts;
}

} // namespace zemm
