// SPDX-License-Identifier: Apache-2.0
// Conditions of several predicates. If one does not hold, why says so.
#pragma once

#include "matmul/choose/facts.hpp"

namespace zemm::matmul {

bool has(const ze::device &dev, ze::feature feature, std::string &why);
bool multiplies_integers(const facts &f, std::string &why);

// Whether parts of K that are multiplied apart begin at multiples of the unit. who: how the reason names what
// wants that, with its verb ("it needs").
bool begins_at(const facts &f, zemm_dim_t unit, const char *who, std::string &why);

// Whether integer weights minus their zero points may become the type that is multiplied, which has all
// integers up to `most`: exactly, or, where zero points are floats, rounded. The fpmath mode has to allow
// that, and some rows have no conversion that rounds.
bool widens(const facts &f, const char *type, zemm_dim_t most, bool rounds, std::string &why);
bool widens_to_bf16(const facts &f, bool rounds, std::string &why);
bool widens_to_f16(const facts &f, std::string &why);

} // namespace zemm::matmul
