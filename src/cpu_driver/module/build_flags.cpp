// SPDX-License-Identifier: Apache-2.0
#include "build_flags.h"

#include <algorithm>
#include <sstream>

namespace ze_cpu {
namespace {

/// Flags of Intel's GPU driver that this driver accepts and ignores: a CPU does what they ask for
/// anyway, or has nothing that they apply to.
bool has_no_meaning(const std::string &flag) {
    constexpr const char *known[] = {
        "-ze-opt-greater-than-4GB-buffer-required",
        "-ze-opt-large-register-file",
        "-ze-opt-has-buffer-offset-arg",
        "-ze-intel-enable-auto-large-GRF-mode",
        "-ze-take-global-address",
        "-ze-library-compilation",
    };
    return std::any_of(std::begin(known), std::end(known), [&](const char *k) { return flag == k; });
}

} // namespace

std::string translate_flags(const char *flags, std::string &log) {
    std::string result, text = flags ? flags : "";
    std::replace(text.begin(), text.end(), ',', ' '); // the specification separates flags by commas
    std::istringstream words(text);
    auto add = [&](const std::string &option) { result += (result.empty() ? "" : " ") + option; };
    for (std::string word; words >> word;) {
        if (word == "-ze-opt-disable") {
            add("-cl-opt-disable");
        } else if (word == "-ze-opt-level" || word.rfind("-ze-opt-level=", 0) == 0) {
            std::string level;
            if (size_t equal = word.find('='); equal != std::string::npos)
                level = word.substr(equal + 1);
            else
                words >> level;
            if (level == "0" || level == "O0")
                add("-cl-opt-disable");
        } else if (word == "-g" || word.rfind("-cl-", 0) == 0) {
            add(word);
        } else if (!has_no_meaning(word)) {
            log += "warning: build flag ignored on the CPU: " + word + "\n";
        }
    }
    return result;
}

std::string link_options(const std::string &options) {
    // The options that the runtime's linker accepts. It refuses the others, which only affect
    // compilation.
    constexpr const char *known[] = {"-cl-denorms-are-zero", "-cl-finite-math-only",
                                     "-cl-unsafe-math-optimizations", "-cl-fast-relaxed-math"};
    std::string result;
    std::istringstream words(options);
    for (std::string word; words >> word;)
        for (const char *option : known)
            if (word == option)
                result += (result.empty() ? "" : " ") + word;
    return result;
}

} // namespace ze_cpu
