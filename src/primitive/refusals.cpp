// SPDX-License-Identifier: Apache-2.0
#include "primitive/refusals.hpp"

#include "common/error.hpp"
#include "common/verbose.hpp"

namespace zemm {

void refusals::add(const char *implementation, std::string why) {
    if (verbose::enabled(verbose::dispatch))
        verbose::print(text("primitive,create:dispatch,%s,%s,%s,%s", primitive_, implementation, why.c_str(),
                            shapes_().c_str()));
    reasons_.emplace_back(implementation, std::move(why));
}

void refusals::fail() const {
    std::string all;
    for (const auto &[implementation, why] : reasons_)
        all += text("; %s: %s", implementation, why.c_str());
    zemm::fail(zemm_unimplemented, "no kernel takes the %s %s%s", primitive_, shapes_().c_str(), all.c_str());
}

} // namespace zemm
