// SPDX-License-Identifier: Apache-2.0
// Reads environment variables.
#include "common/env.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

namespace zemm {

namespace {

std::atomic<bool> reads_onednn_variables{false};

// The settings that oneDNN has under the same name.
constexpr const char *shared_settings[] = {"VERBOSE", "VERBOSE_TIMESTAMP", "PRIMITIVE_CACHE_CAPACITY",
                                           "DEFAULT_FPMATH_MODE"};

} // namespace

void read_onednn_variables() {
    reads_onednn_variables = true;
}

std::string env(const char *name) {
    if (const char *value = secure_getenv(name))
        return value;
    if (!reads_onednn_variables)
        return "";
    for (const char *setting : shared_settings) {
        if (std::strcmp(name, (std::string("ZEMM_") + setting).c_str()))
            continue;
        for (const char *prefix : {"ONEDNN_", "DNNL_"})
            if (const char *value = secure_getenv((std::string(prefix) + setting).c_str()))
                return value;
    }
    return "";
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
