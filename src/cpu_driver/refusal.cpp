// SPDX-License-Identifier: Apache-2.0
#include "refusal.h"

#include <utility>

namespace ze_cpu {
namespace {

thread_local std::string sentence;

}

ze_result_t refuse(ze_result_t result, std::string why) {
    sentence = std::move(why);
    return result;
}

const char *last_refusal() {
    return sentence.c_str();
}

} // namespace ze_cpu
