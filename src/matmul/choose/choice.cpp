// SPDX-License-Identifier: Apache-2.0
#include "matmul/choose/choice.hpp"

#include <algorithm>
#include <charconv>

#include "common/error.hpp"
#include "matmul/choose/dispatch.hpp"

namespace zemm::matmul {

namespace {

struct part {
    const char *name;
    zemm_dim_t cut_choice::*value;
};
constexpr part parts[] = {
    {"rows", &cut_choice::rows},
    {"ranges", &cut_choice::ranges},
    {"slices", &cut_choice::slices},
    {"strip", &cut_choice::strip},
};

constexpr int32_t largest_number = 4096; // more would not be faster

bool parse_part(std::string_view word, cut_choice &cut) {
    const size_t equals = word.find('=');
    for (const part &p : parts) {
        if (equals == std::string_view::npos || word.substr(0, equals) != p.name || cut.*p.value != 0)
            continue;
        const std::string_view number = word.substr(equals + 1);
        const char *const end = number.data() + number.size();
        int32_t value = 0;
        const auto [rest, failure] = std::from_chars(number.data(), end, value);
        cut.*p.value = value;
        return failure == std::errc() && rest == end && value > 0 && value <= largest_number;
    }
    return false;
}

} // namespace

std::string cut_choice::text() const {
    std::string words;
    for (const part &p : parts)
        if (this->*p.value != 0)
            words += zemm::text(":%s=%lld", p.name, (long long)(this->*p.value));
    return words;
}

zemm_dim_t strip_of(const cut_choice &chosen, zemm_dim_t best, zemm_dim_t along_m, const kernel_row &row) {
    if (chosen.strip > along_m)
        fail(zemm_unimplemented, "M has %lld work-groups for %s, a strip has no %lld", (long long)along_m,
             row.name, (long long)chosen.strip);
    return chosen.strip != 0 ? chosen.strip : std::clamp<zemm_dim_t>(best, 1, along_m);
}

std::optional<choice> parse_choice(std::string_view text, std::string &why) {
    size_t end = std::min(text.find(':'), text.size());
    choice result = {.row = find_row(text.substr(0, end))};
    if (!result.row) {
        why = zemm::text("\"%.*s\" is no kernel", int(std::min<size_t>(end, 100)), text.data());
        return std::nullopt;
    }
    while (end < text.size()) {
        const size_t begin = end + 1;
        end = std::min(text.find(':', begin), text.size());
        const std::string_view word = text.substr(begin, end - begin);
        if (!parse_part(word, result.cut)) {
            why = zemm::text("\"%.*s\" is neither rows=, ranges=, slices= nor strip= with a number from 1 to "
                             "%d, or is there twice",
                             int(std::min<size_t>(word.size(), 100)), word.data(), largest_number);
            return std::nullopt;
        }
    }
    return result;
}

} // namespace zemm::matmul
