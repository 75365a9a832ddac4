// SPDX-License-Identifier: Apache-2.0
#include "refusal.h"

#include <cstdio>

namespace ze_cpu {
namespace {

// Not a std::string: static destructors of the program may still call the driver, after the
// destructors of the main thread's variables.
thread_local char sentence[4096] = "";

} // namespace

ze_result_t refuse(ze_result_t result, const std::string &why) {
    std::snprintf(sentence, sizeof sentence, "%s", why.c_str());
    return result;
}

const char *last_refusal() {
    return sentence;
}

} // namespace ze_cpu
