// SPDX-License-Identifier: Apache-2.0
// For policies without the tables of policy/cpu/small_words.h.
#pragma once

#include "policy/cpu/work_item_wei.h"

static inline bool wei_in_tables() {
    return false;
}
static inline void look_up_quads(bytes wei, long i, int length, __private vec_i *words) {}
static inline void look_up_pairs(vec_i quads, __private vec_f *value) {}
static inline vec_f first_of_words(vec_i words) {
    return (vec_f)0.f;
}
static inline vec_f second_of_words(vec_i words) {
    return (vec_f)0.f;
}
