// SPDX-License-Identifier: Apache-2.0
// A row of kernels.def and how it cuts a problem, where the library does not decide that itself. As
// text, "matmul_...:rows=32:ranges=2", it is the value of ZEMM_KERNEL and part of a tuning file.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "zemm/zemm_types.h"

namespace zemm::matmul {

struct kernel_row;

// 0: the library decides.
struct cut_choice {
    zemm_dim_t rows = 0;   // of a tile; only where a work-item owns a tile
    zemm_dim_t ranges = 0; // of K
    zemm_dim_t slices = 0; // of a range of K; only where a sub-group owns a tile
    zemm_dim_t strip = 0;  // work-groups along M that run before the next columns (matmul_problem.strip)
    bool operator==(const cut_choice &) const = default;
    std::string text() const; // ":rows=32:ranges=2"; "" if the library decides everything
};

// Work-groups along M in a strip, of `along_m`: `best`, or the chosen number, which has to fit.
zemm_dim_t strip_of(const cut_choice &chosen, zemm_dim_t best, zemm_dim_t along_m, const kernel_row &row);

struct choice {
    const kernel_row *row = nullptr;
    cut_choice cut = {};
};

// nullopt if the text names no row, or has another form. why: set to the reason then.
std::optional<choice> parse_choice(std::string_view text, std::string &why);

} // namespace zemm::matmul
