// SPDX-License-Identifier: Apache-2.0
// Tuning: choices of a file that the environment variable ZEMM_TUNING names. zemm-tune measures them
// and writes the file. It is read once, at its first use.
//
// The file has lines; empty ones and those that begin with # mean nothing:
//   zemm-tuning 1                              the format
//   library <version> <hash of all kernels>
//   device <kind, size, name, features, hash>  the choices below are for this device
//   <choice> <problem>
//   end                                        the last line
// A problem is written as in the log.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "matmul/problem/problem.hpp"
#include "ze/device.hpp"
#include "zemm/zemm_types.h"

namespace zemm::matmul {

struct kernel_row;

// A choice is a row of kernels.def and how it cuts a problem, where the library does not decide that itself.
// As text, "matmul_...:rows=32:ranges=2", it is the value of ZEMM_KERNEL and part of a tuning file.

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

// Choices by problem, for each device.
using tuning = std::unordered_map<std::string, std::unordered_map<std::string, choice>>;

// Reads the text of a file. Throws invalid_arguments if it is damaged, or of another format or
// library.
tuning parse_tuning(std::string_view text);

// The choice for the problem, whose weights may have tag any; nullptr if there is none. A file that
// cannot be used has none, and a warning in the log says why.
const choice *tuned(const problem &p, const ze::device &dev);

// Warns that the choice of the file is not used for the problem.
void warn_unused(const problem &p, const choice &c, const std::string &why);

// A file with one choice for the problem. If its weights had tag any, the choice is also for the
// layout that they have now.
std::string tuning_text(const problem &p, const ze::device &dev, const choice &c);

} // namespace zemm::matmul
