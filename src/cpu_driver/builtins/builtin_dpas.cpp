// SPDX-License-Identifier: Apache-2.0
//
// Recognises imported matrix multiplications (DPAS) and composes their software versions
// (builtins/dpas.cl).
#include "builtin_families.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace ze_cpu {
namespace {

/// An element type of a matrix. `name` is its spelling in the names intel_sub_group_*.
struct Element {
    const char *name;
    uint32_t bits;
    char kind; // i: signed integer, u: unsigned integer, f: float
};
constexpr Element elements[] = {{"i8", 8, 'i'},   {"u8", 8, 'u'},    {"i4", 4, 'i'},
                                {"u4", 4, 'u'},   {"i2", 2, 'i'},    {"u2", 2, 'u'},
                                {"f16", 16, 'f'}, {"bf16", 16, 'f'}, {"tf32", 32, 'f'}};

const Element *element_of(const std::string &name) {
    for (const Element &element : elements)
        if (name == element.name)
            return &element;
    return nullptr;
}

/// The element type for its spelling in the compiler's own names, such as s8, hf and bf.
const Element *flat_element(const std::string &name) {
    if (name[0] == 's')
        return element_of("i" + name.substr(1));
    return element_of(name == "hf" ? "f16" : name == "bf" ? "bf16" : name);
}

/// The K of one DPAS: eight steps of 32 bits, each with as many elements as fit of the wider type.
/// Elements of 2 bits count as 4 bits here.
uint32_t depth(const Element &a, const Element &b) {
    return 8 * 32 / std::max({a.bits, b.bits, 4u});
}

/// The operands of one DPAS: the element types, and the types of the arguments that hold them.
struct Operands {
    const Element &a, &b;
    const MangledType &a_type, &b_type, &acc;
    uint32_t k, lanes;
};

void define(Instance &instance, const Operands &o) {
    const bool is_float = o.a.kind == 'f', is_narrow = is_float && o.acc.letter != 'f';
    const std::string narrow = o.acc.letter == 'H' ? "half" : "bf16";
    const std::string same = is_float ? "ze_same_float" : "ze_same_integer";
    const uint32_t a_bits = bits_of(o.a_type.letter);
    instance.define("M", o.acc.components);
    instance.define("K", o.k);
    instance.define("LANES", o.lanes);
    instance.define("A", type_name(o.a_type));
    instance.define("A_WORD", unsigned_of(a_bits));
    instance.define("A_WORDS", o.a_type.components);
    instance.define("A_PACKED", std::max(a_bits / o.a.bits, 1u));
    instance.define("A_VALUE", std::string("ze_") + o.a.name);
    instance.define("B", type_name(o.b_type));
    instance.define("B_PACKED", 32 / o.b.bits);
    instance.define("B_VALUE", std::string("ze_") + o.b.name);
    instance.define("ACC", type_name(o.acc));
    instance.define("ACC_SCALAR", scalar_name(o.acc.letter));
    instance.define("SUM", is_float ? "float" : "int");
    instance.define("MAD", is_float ? "ze_mad_float" : "ze_mad_integer");
    instance.define("FROM_ACC", is_narrow ? "ze_from_" + narrow : same);
    instance.define("TO_ACC", is_narrow ? "ze_to_" + narrow : same);
}

} // namespace

/// Recognises intel_sub_group_<a>_<b>_matrix_mad_k<K>(a, b, acc).
std::optional<Builtin> find_dpas(const std::string &symbol, const MangledName &mangled,
                                 const std::string &function) {
    char of_a[5] = {}, of_b[5] = {};
    uint32_t k = 0;
    int length = 0;
    if (std::sscanf(mangled.name.c_str(), "intel_sub_group_%4[a-z0-9]_%4[a-z0-9]_matrix_mad_k%2u%n", of_a,
                    of_b, &k, &length) != 3 ||
        size_t(length) != mangled.name.size() || mangled.parameters.size() != 3)
        return {};
    const Element *a = element_of(of_a), *b = element_of(of_b);
    const MangledType &a_type = mangled.parameters[0], &b_type = mangled.parameters[1],
                      &acc = mangled.parameters[2];
    if (!a || !b || acc.kind != MangledType::number || a_type.kind != MangledType::number ||
        b_type.kind != MangledType::number || !is_one_of(acc.components, {1, 2, 4, 8}))
        return {};
    const bool is_float = a->kind == 'f', is_tf32 = a->bits == 32;
    const uint32_t m = acc.components, a_bits = bits_of(a_type.letter);
    if (k != depth(*a, *b) || (is_float && a != b) || (b->kind == 'f') != is_float)
        return {};
    if (b_type.components * 32 != k * b->bits || b_type.letter != (is_tf32          ? 'f'
                                                                   : b->kind == 'u' ? 'j'
                                                                                    : 'i'))
        return {};
    if (a_bits < a->bits ||
        (is_tf32 ? a_type.letter != 'f' : !std::strchr(a->kind == 'u' ? "htj" : "csi", a_type.letter)))
        return {};
    const uint32_t a_packed = a_bits / a->bits, row_lanes = k / a_packed, lanes = is_tf32 ? 16 : row_lanes;
    if (!is_one_of(lanes, {8, 16}) || a_type.components != (m * row_lanes + lanes - 1) / lanes)
        return {};
    const bool to_f16 = acc.letter == 'H' && std::string(of_a) == "f16" && lanes == 16;
    const bool to_bf16 = acc.letter == 's' && std::string(of_a) == "bf16" && lanes == 16;
    if (!to_f16 && !to_bf16 && acc.letter != (is_float ? 'f' : 'i'))
        return {};

    const Operands operands{*a, *b, a_type, b_type, acc, k, lanes};
    Instance instance(symbol, function);
    define(instance, operands);
    const std::string out = signature_of(acc);
    return Builtin{out + "(" + signature_of(a_type) + "," + signature_of(b_type) + "," + out + ")",
                   instance.around(builtin_dpas)};
}

/// Recognises the names that every version of Intel's compiler has:
///
///     __builtin_IB_sub_group16_idpas_<a>_<b>_8_<M>(acc, a, b)
///     __builtin_IB_sub_group16_fdpas_f_f_<a>_<a>_8_<M>(acc, a, b)
///
/// They take the operands as they lie in registers: `a` is a vector of ints in which eight lanes
/// together hold a row.
std::optional<Builtin> find_flat_dpas(const std::string &symbol, const std::string &function) {
    char of_a[5] = {}, of_b[5] = {};
    uint32_t m = 0;
    int length = 0;
    if ((std::sscanf(symbol.c_str(), "__builtin_IB_sub_group16_idpas_%2[su48]_%2[su48]_8_%1u%n", of_a, of_b,
                     &m, &length) != 3 &&
         std::sscanf(symbol.c_str(), "__builtin_IB_sub_group16_fdpas_f_f_%4[a-z0-9]_%4[a-z0-9]_8_%1u%n", of_a,
                     of_b, &m, &length) != 3) ||
        size_t(length) != symbol.size() || !is_one_of(m, {2, 4, 8}))
        return {};
    const Element *a = flat_element(of_a), *b = flat_element(of_b);
    if (!a || !b || (a->kind == 'f' && a != b) || (a->kind == 'f') != (b->kind == 'f'))
        return {};
    const uint32_t k = depth(*a, *b);
    if (k * a->bits != 8 * 32) // 4-bit `a` with 8-bit `b`: its rows have half the length
        return {};
    const MangledType a_type{MangledType::number, 'j', m / 2},
        b_type{MangledType::number, b->kind == 'u' ? 'j' : 'i', k * b->bits / 32},
        acc{MangledType::number, a->kind == 'f' ? 'f' : 'i', m};
    Instance instance(symbol + ".rows", function + "_rows");
    instance.define("FLAT_SYMBOL", "\"" + symbol + "\"");
    instance.define("FLAT", function);
    define(instance, {*a, *b, a_type, b_type, acc, k, 16});
    const std::string out = signature_of(acc);
    return Builtin{out + "(" + out + "," + signature_of(a_type) + "," + signature_of(b_type) + ")",
                   instance.around(builtin_dpas)};
}

} // namespace ze_cpu
