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
// choice.hpp has the form of a choice. A problem is written as in the log.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "matmul/choose/choice.hpp"
#include "matmul/problem/problem.hpp"
#include "ze/device.hpp"

namespace zemm::matmul {

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
