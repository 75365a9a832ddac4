// SPDX-License-Identifier: Apache-2.0
// The table of data types, made from lists/types.def, and queries on it.
#include "common/data_type.hpp"

#include <algorithm>
#include <cfloat>
#include <iterator>

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
    int digits;
    double smallest; // the smallest normal value; of an integer type the lowest
    double largest;
    bool suits[7]; // indexed by role
};

constexpr bool yes = true, no = false;

constexpr type_row rows[] = {
#define CONVERTED(name, bits, kind, is_signed, digits, smallest, largest, ...)                               \
    {zemm_##name, bits, number::kind, true, is_signed, digits, smallest, largest, {__VA_ARGS__}},
#define UNCONVERTED(name, bits, kind) {zemm_##name, bits, number::kind, false, false, 0, 0., 0., {}},
#define ZEMM_FLOAT_TYPE(name, NAME, value, bits, ...) CONVERTED(name, bits, floating, false, __VA_ARGS__)
#define ZEMM_EXPONENT_TYPE(name, NAME, value, bits, ...) CONVERTED(name, bits, exponent, false, __VA_ARGS__)
#define ZEMM_WIDE_TYPE(name, NAME, value, bits, ...) CONVERTED(name, bits, floating, false, __VA_ARGS__)
#define ZEMM_INT_TYPE(name, NAME, value, bits, is_signed, low, ...)                                          \
    CONVERTED(name, bits, integer, is_signed, bits - is_signed, low, __VA_ARGS__)
#define ZEMM_COPIED_TYPE(name, value, bits, kind) UNCONVERTED(name, bits, kind)
#define ZEMM_NO_ELEMENT(name, value, bits, text) UNCONVERTED(name, bits, none)
#include "lists/types.def"
};

constexpr type_row unknown = {zemm_data_type_undef, 0, number::none, false, false, 0, 0., 0., {}};

const type_row &row_of(zemm_data_type_t dt) {
    const auto *found = std::ranges::find(rows, dt, &type_row::type);
    return found == std::end(rows) ? unknown : *found;
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
    return row_of(dt).bits;
}

int elements_per_byte(zemm_data_type_t dt) {
    const int bits = data_type_bits(dt);
    return bits > 0 && bits < 8 ? 8 / bits : 1;
}

bool is_md_data_type(zemm_data_type_t dt) {
    return row_of(dt).kind != number::none;
}

bool is_floating(zemm_data_type_t dt) {
    return row_of(dt).kind == number::floating;
}

bool is_integer(zemm_data_type_t dt) {
    return row_of(dt).kind == number::integer;
}

bool is_int8(zemm_data_type_t dt) {
    return is_integer(dt) && data_type_bits(dt) == 8;
}

bool is_small_int(zemm_data_type_t dt) {
    return is_integer(dt) && data_type_bits(dt) < 8;
}

bool is_narrow_int(zemm_data_type_t dt) {
    return is_integer(dt) && data_type_bits(dt) <= 8;
}

bool is_signed(zemm_data_type_t dt) {
    return row_of(dt).is_signed;
}

value_range range_of(zemm_data_type_t dt) {
    const type_row &row = row_of(dt);
    if (!row.is_converted || row.kind != number::integer)
        fail(zemm_runtime_error,
             "the range of data type %s is asked for, which only integers of kernels have",
             data_type_name(dt));
    return {zemm_dim_t(row.smallest), zemm_dim_t(row.largest)};
}

bool is_converted(zemm_data_type_t dt) {
    return row_of(dt).is_converted;
}

bool is_small_float(zemm_data_type_t dt) {
    const type_row &row = row_of(dt);
    return row.is_converted && row.kind != number::integer && row.bits <= 8;
}

float_facts float_facts_of(zemm_data_type_t dt) {
    const type_row &row = row_of(dt);
    if (!row.is_converted)
        fail(zemm_runtime_error,
             "the digits of data type %s are asked for, which only types that kernels convert have",
             data_type_name(dt));
    // f32 has fewer digits than s32, and less of both than f64.
    const double smallest = row.kind == number::integer ? 0. : std::max(row.smallest, double(FLT_MIN));
    return {std::min(row.digits, FLT_MANT_DIG), float(std::min(row.largest, double(FLT_MAX))),
            float(smallest)};
}

bool suits(zemm_data_type_t dt, role as) {
    return row_of(dt).suits[int(as)];
}

std::string types_for(role as, const char *separator) {
    return names_where(separator, [as](const type_row &row) { return row.suits[int(as)]; });
}

std::string types_where(bool (*condition)(zemm_data_type_t)) {
    return names_where(" ", [condition](const type_row &row) { return condition(row.type); });
}

} // namespace zemm
