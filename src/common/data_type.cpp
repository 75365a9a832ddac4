// SPDX-License-Identifier: Apache-2.0
#include "common/memory_desc.hpp"

namespace zemm {

int data_type_bits(zemm_data_type_t dt) {
    switch (dt) {
    case zemm_s4:
    case zemm_u4:
    case zemm_f4_e2m1:
    case zemm_f4_e3m0:
        return 4;
    case zemm_s8:
    case zemm_u8:
    case zemm_boolean:
    case zemm_f8_e5m2:
    case zemm_f8_e4m3:
    case zemm_e8m0:
        return 8;
    case zemm_f16:
    case zemm_bf16:
        return 16;
    case zemm_f32:
    case zemm_s32:
        return 32;
    case zemm_f64:
    case zemm_s64:
        return 64;
    default:
        return 0;
    }
}

bool is_integer(zemm_data_type_t dt) {
    return is_int4(dt) || is_int8(dt) || dt == zemm_s32 || dt == zemm_s64;
}

bool is_int4(zemm_data_type_t dt) {
    return dt == zemm_s4 || dt == zemm_u4;
}

bool is_int8(zemm_data_type_t dt) {
    return dt == zemm_s8 || dt == zemm_u8;
}

} // namespace zemm
