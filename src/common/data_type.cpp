// SPDX-License-Identifier: Apache-2.0
// The table of data types, made from kernels/types.def, and queries on it.
#include "common/data_type.hpp"

#include <cfloat>

#include "common/error.hpp"
#include "common/names.hpp"

namespace zemm {

namespace {

enum class number { floating, integer, exponent, none };

struct type_row {
    zemm_data_type_t type;
    int bits;
    number kind;
    bool is_converted, is_signed;
    value_range range;
    bool suits[7]; // indexed by role
};

constexpr bool yes = true, no = false;

constexpr type_row rows[] = {
#define ROW_WITHOUT_SIGN(name, bits, kind, ...)                                                              \
    {zemm_##name, bits, number::kind, true, false, {}, {__VA_ARGS__}},
#define ZEMM_FLOAT_TYPE(name, NAME, value, bits, ...) ROW_WITHOUT_SIGN(name, bits, floating, __VA_ARGS__)
#define ZEMM_EXPONENT_TYPE(name, NAME, value, bits, ...) ROW_WITHOUT_SIGN(name, bits, exponent, __VA_ARGS__)
#define ZEMM_INT_TYPE(name, NAME, value, bits, is_signed, low, high, src, weights, dst, bias, scale,         \
                      zero_point, post_op)                                                                   \
    {zemm_##name,                                                                                            \
     bits,                                                                                                   \
     number::integer,                                                                                        \
     true,                                                                                                   \
     is_signed,                                                                                              \
     {low, high},                                                                                            \
     {src, weights, dst, bias, scale, zero_point, post_op}},
#define ZEMM_WIDE_TYPE(name, NAME, value, bits, ...) ROW_WITHOUT_SIGN(name, bits, floating, __VA_ARGS__)
#define ZEMM_COPIED_TYPE(name, value, bits, kind) {zemm_##name, bits, number::kind, false, false, {}, {}},
#define ZEMM_NO_ELEMENT(name, value, bits, text) {zemm_##name, bits, number::none, false, false, {}, {}},
#include "kernels/types.def"
};

const type_row *find(zemm_data_type_t dt) {
    for (const type_row &row : rows)
        if (row.type == dt)
            return &row;
    return nullptr;
}

bool is_integer_of(zemm_data_type_t dt, int bits) {
    const type_row *row = find(dt);
    return row && row->kind == number::integer && row->bits == bits;
}

template <typename F> std::string names_where(const char *separator, F &&condition) {
    std::string names;
    for (const type_row &row : rows)
        if (condition(row))
            names += (names.empty() ? "" : separator) + std::string(data_type_name(row.type));
    return names;
}

} // namespace

int data_type_bits(zemm_data_type_t dt) {
    const type_row *row = find(dt);
    return row ? row->bits : 0;
}

bool is_md_data_type(zemm_data_type_t dt) {
    const type_row *row = find(dt);
    return row && row->kind != number::none;
}

bool is_floating(zemm_data_type_t dt) {
    const type_row *row = find(dt);
    return row && row->kind == number::floating;
}

bool is_integer(zemm_data_type_t dt) {
    const type_row *row = find(dt);
    return row && row->kind == number::integer;
}

bool is_int4(zemm_data_type_t dt) {
    return is_integer_of(dt, 4);
}

bool is_int8(zemm_data_type_t dt) {
    return is_integer_of(dt, 8);
}

bool is_signed(zemm_data_type_t dt) {
    const type_row *row = find(dt);
    return row && row->is_signed;
}

value_range range_of(zemm_data_type_t dt) {
    const type_row *row = find(dt);
    if (!row || !row->is_converted || row->kind != number::integer)
        fail(zemm_runtime_error,
             "the range of data type %s is asked for, which only integers of kernels have",
             data_type_name(dt));
    return row->range;
}

bool is_converted(zemm_data_type_t dt) {
    const type_row *row = find(dt);
    return row && row->is_converted;
}

bool is_small_float(zemm_data_type_t dt) {
    const type_row *row = find(dt);
    return row && row->is_converted && row->kind != number::integer && row->bits <= 8;
}

float_facts float_facts_of(zemm_data_type_t dt) {
    switch (dt) {
    case zemm_f16:
        return {11, 65504.f, 0x1p-14f};
    case zemm_bf16:
        return {8, 0x1.fep127f, 0x1p-126f};
    case zemm_f8_e5m2:
        return {3, 57344.f, 0x1p-14f};
    case zemm_f8_e4m3:
        return {4, 448.f, 0x1p-6f};
    case zemm_f4_e2m1:
        return {2, 6.f, 1.f};
    case zemm_s8:
        return {7, 127.f, 0.f};
    case zemm_u8:
        return {8, 255.f, 0.f};
    case zemm_s32:
        return {24, 0x1p31f, 0.f}; // f32 has no 2^31 - 1
    default:
        return {24, FLT_MAX, FLT_MIN};
    }
}

bool suits(zemm_data_type_t dt, role as) {
    const type_row *row = find(dt);
    return row && row->suits[int(as)];
}

std::string types_for(role as, const char *separator) {
    return names_where(separator, [as](const type_row &row) { return row.suits[int(as)]; });
}

std::string types_where(bool (*condition)(zemm_data_type_t)) {
    return names_where(" ", [condition](const type_row &row) { return condition(row.type); });
}

} // namespace zemm
