// SPDX-License-Identifier: Apache-2.0
// The predicates that kernels.def names: whether a row takes a problem on a device. If not, why
// says something that a user can act on.
#pragma once

#include "matmul/choose/facts.hpp"

namespace zemm::matmul {

bool takes_float(const facts &f, const ze::device &dev, ze::feature isa, std::string &why);
bool takes_widened(const facts &f, const ze::device &dev, ze::feature isa, std::string &why);
bool takes_bf16(const facts &f, const ze::device &dev, ze::feature isa, std::string &why);
bool takes_packed_float(const facts &f, const ze::device &dev, ze::feature isa, std::string &why);
bool takes_int8(const facts &f, const ze::device &dev, ze::feature isa, std::string &why);
bool takes_segments(const facts &f, const ze::device &dev, ze::feature isa, std::string &why);
bool takes_packed_int8(const facts &f, const ze::device &dev, ze::feature isa, std::string &why);
// loads: the feature that the policy loads tensors with (block_2d), or xmx if it needs no other.
bool takes_dpas_int8(const facts &f, const ze::device &dev, ze::feature loads, std::string &why);
bool takes_dp4a_int8(const facts &f, const ze::device &dev, ze::feature isa, std::string &why);
bool takes_dp4a_scaled(const facts &f, const ze::device &dev, ze::feature isa, std::string &why);
bool takes_dpas_half(const facts &f, const ze::device &dev, ze::feature loads, std::string &why);
bool takes_dpas_widened(const facts &f, const ze::device &dev, ze::feature loads, std::string &why);
bool takes_dpas_tf32(const facts &f, const ze::device &dev, ze::feature loads, std::string &why);
bool in_tiles(const facts &f, const ze::device &dev, std::string &why);
bool fma_in_sub_groups(const facts &f, const ze::device &dev, std::string &why);
bool on_any(const facts &f, const ze::device &dev, std::string &why);
bool on_cpu(const facts &f, const ze::device &dev, std::string &why);

// For rows where a sub-group owns a tile: whether the device has their sub-group size and threads,
// and the problem fits into their registers and loads. True for other rows.
bool fits_sub_group(const facts &f, const ze::device &dev, std::string &why);

#define ZEMM_PREDICATE(name, function)                                                                       \
    template <ze::feature feature> bool name(const facts &f, const ze::device &dev, std::string &why) {      \
        return function(f, dev, feature, why);                                                               \
    }
ZEMM_PREDICATE(float_on, takes_float)
ZEMM_PREDICATE(widened_on, takes_widened)
ZEMM_PREDICATE(bf16_on, takes_bf16)
ZEMM_PREDICATE(int8_on, takes_int8)
ZEMM_PREDICATE(segments_on, takes_segments)
ZEMM_PREDICATE(packed_float_on, takes_packed_float)
ZEMM_PREDICATE(packed_int8_on, takes_packed_int8)
ZEMM_PREDICATE(dpas_int8_on, takes_dpas_int8)
ZEMM_PREDICATE(dp4a_int8_on, takes_dp4a_int8)
ZEMM_PREDICATE(dp4a_scaled_on, takes_dp4a_scaled)
ZEMM_PREDICATE(dpas_half_on, takes_dpas_half)
ZEMM_PREDICATE(dpas_widened_on, takes_dpas_widened)
ZEMM_PREDICATE(dpas_tf32_on, takes_dpas_tf32)
#undef ZEMM_PREDICATE

// Conditions of several predicates. If one does not hold, why says so.
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
