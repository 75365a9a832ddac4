// SPDX-License-Identifier: Apache-2.0
#include "builtins.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>

namespace ze_cpu {
namespace {

/// Macros around a family's text: what is defined before it is undefined behind it.
class Instance {
public:
    void define(const std::string &name, const std::string &value) {
        before_ += "#define " + name + " " + value + "\n";
        behind_ += "#undef " + name + "\n";
    }
    void define(const std::string &name, uint32_t value) { define(name, std::to_string(value)); }
    std::string around(const char *text) const { return before_ + text + behind_; }

private:
    std::string before_, behind_;
};

const char *unsigned_of(uint32_t bits) {
    return bits == 8 ? "uchar" : bits == 16 ? "ushort" : bits == 32 ? "uint" : "ulong";
}

const char *scalar_name(char letter) {
    switch (letter) {
    case 'c':
    case 'a':
        return "char";
    case 'h':
        return "uchar";
    case 's':
        return "short";
    case 't':
        return "ushort";
    case 'i':
        return "int";
    case 'j':
        return "uint";
    case 'H':
        return "half";
    default:
        return "float";
    }
}

std::string type_name(const MangledType &type) {
    return scalar_name(type.letter) + (type.components > 1 ? std::to_string(type.components) : "");
}

std::string signature_of(const MangledType &type) {
    const bool is_float = type.letter == 'f' || type.letter == 'H';
    return (is_float ? "f" : "i") + std::to_string(bits_of(type.letter)) +
           (type.components > 1 ? "x" + std::to_string(type.components) : "");
}

/// An element type of a matrix: how names spell it.
struct Element {
    const char *name;
    uint32_t bits;
    char kind; // i, u: integers; f: floats
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

bool is_one_of(uint32_t value, std::initializer_list<uint32_t> values) {
    for (uint32_t v : values)
        if (v == value)
            return true;
    return false;
}

/// intel_sub_group_<a>_<b>_matrix_mad_k<K>(a, b, acc)
std::optional<Builtin> dpas(const std::string &symbol, const MangledName &mangled,
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
    // Eight steps of 32 bits, as many elements as the wider type lets fit.
    if (k != 8 * 32 / std::max({a->bits, b->bits, 4u}) || (is_float && a != b) ||
        (b->kind == 'f') != is_float)
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

    Instance instance;
    instance.define("SYMBOL", "\"" + symbol + "\"");
    instance.define("FUNCTION", function);
    instance.define("M", m);
    instance.define("K", k);
    instance.define("LANES", lanes);
    instance.define("A", type_name(a_type));
    instance.define("A_WORD", unsigned_of(a_bits));
    instance.define("A_PACKED", a_packed);
    instance.define("A_VALUE", std::string("ze_") + of_a);
    instance.define("B", type_name(b_type));
    instance.define("B_PACKED", 32 / b->bits);
    instance.define("B_VALUE", std::string("ze_") + of_b);
    instance.define("ACC", type_name(acc));
    instance.define("ACC_SCALAR", scalar_name(acc.letter));
    instance.define("SUM", is_float ? "float" : "int");
    instance.define("MAD", is_float ? "ze_mad_float" : "ze_mad_integer");
    instance.define("FROM_ACC", to_f16     ? "ze_from_half"
                                : to_bf16  ? "ze_from_bf16"
                                : is_float ? "ze_same_float"
                                           : "ze_same_integer");
    instance.define("TO_ACC", to_f16     ? "ze_to_half"
                              : to_bf16  ? "ze_to_bf16"
                              : is_float ? "ze_same_float"
                                         : "ze_same_integer");
    const std::string out = signature_of(acc);
    return Builtin{out + "(" + signature_of(a_type) + "," + signature_of(b_type) + "," + out + ")",
                   instance.around(builtin_dpas)};
}

/// Shapes that the specification lists.
bool is_block(const std::string &access, uint32_t bits, uint32_t rows, uint32_t columns, uint32_t count) {
    if (access == "read_transform")
        return columns == 16 && ((bits == 8 && rows == 32 && is_one_of(count, {1, 2, 4})) ||
                                 (bits == 16 && is_one_of(rows, {16, 32}) && is_one_of(count, {1, 2})));
    if (access == "read_transpose")
        return bits == 32 && is_one_of(rows, {16, 32}) && columns == 8 && count == 1;
    if (access == "write")
        return is_one_of(rows, {1, 2, 4, 8}) && count == 1 && is_one_of(bits, {8, 16, 32}) &&
               (columns == 16 || (bits == 8 && columns == 32));
    if ((access != "read" && access != "prefetch") || !is_one_of(rows, {1, 2, 4, 8, 16, 32}))
        return false;
    if (bits == 8 && columns == 16)
        return (count == 4 && rows >= 8) || (access == "prefetch" && rows == 32 && is_one_of(count, {1, 2}));
    if (bits == 32 && columns == 16)
        return count == 1;
    return is_one_of(count, {1, 2}) &&
           ((bits == 8 && columns == 32) || (bits == 16 && columns == 16) || (bits == 32 && columns == 8));
}

struct Block {
    std::string access;
    uint32_t bits, rows, columns, count;
};

/// What lanes hold: 32 bits if rows are joined; a pair where a row is of 32 elements.
uint32_t bits_of_value(const std::string &access, uint32_t bits, uint32_t columns) {
    return access == "read_transform" ? 32 : columns == 32 ? 2 * bits : bits;
}

std::string block_text(const std::string &symbol, const std::string &function, const Block &block,
                       uint32_t value_bits) {
    Instance instance;
    instance.define("SYMBOL", "\"" + symbol + "\"");
    instance.define("FUNCTION", function);
    instance.define("WIDTH", block.columns);
    instance.define("HEIGHT", block.rows);
    instance.define("COUNT", block.count);
    instance.define("ELEMENT", unsigned_of(block.bits));
    instance.define("VALUE", unsigned_of(value_bits));
    if (block.access == "read_transform")
        instance.define("TRANSFORM", 1);
    if (block.access == "read_transpose")
        instance.define("TRANSPOSE", 1);
    if (block.access == "write")
        instance.define("WRITE", 1);
    if (block.access == "prefetch")
        instance.define("PREFETCH", 1);
    return instance.around(builtin_block_2d);
}

/// intel_sub_group_2d_block_<access>_<bits>b_<rows>r<columns>x<count>c(base, width, height, pitch, coord[,
/// values])
std::optional<Builtin> block_2d(const std::string &symbol, const MangledName &mangled,
                                const std::string &function) {
    const std::string prefix = "intel_sub_group_2d_block_";
    if (mangled.name.rfind(prefix, 0) != 0)
        return {};
    const std::string rest = mangled.name.substr(prefix.size());
    const size_t shape = rest.find_first_of("0123456789");
    if (shape == std::string::npos || shape < 2)
        return {};
    const std::string access = rest.substr(0, shape - 1);
    uint32_t bits = 0, rows = 0, columns = 0, count = 0;
    int length = 0;
    if (std::sscanf(rest.c_str() + shape, "%2ub_%2ur%2ux%1uc%n", &bits, &rows, &columns, &count, &length) !=
            4 ||
        shape + size_t(length) != rest.size() || !is_block(access, bits, rows, columns, count))
        return {};
    const bool is_prefetch = access == "prefetch";
    const uint32_t value_bits = bits_of_value(access, bits, columns);
    const auto &p = mangled.parameters;
    if (p.size() != (is_prefetch ? 5 : 6) || p[0].kind != MangledType::pointer || p[0].address_space != 1)
        return {};
    for (int i = 1; i < 5; i++)
        if (p[i].kind != MangledType::number || p[i].letter != 'i' || p[i].components != (i < 4 ? 1 : 2))
            return {};
    if (!is_prefetch &&
        (p[5].kind != MangledType::pointer || p[5].address_space != 0 || bits_of(p[5].letter) != value_bits))
        return {};

    return Builtin{std::string("v(p5,i32,i32,i32,i32x2") + (is_prefetch ? ")" : ",p7)"),
                   block_text(symbol, function, {access, bits, rows, columns, count}, value_bits)};
}

/// __builtin_IB_subgroup_block_read_flat_<shape>(base, width - 1, height - 1, pitch - 1, coord), which
/// returns what it reads: the names that Intel's compiler has for the builtins above, older ones only these.
/// Shapes: u<bits>_m<rows>k<columns>v<count>, transform_u<bits>_k<rows>[v<count>], transpose_u32_k<columns>
std::optional<Builtin> flat_read(const std::string &symbol, const std::string &function) {
    const std::string prefix = "__builtin_IB_subgroup_block_read_flat_";
    if (symbol.rfind(prefix, 0) != 0)
        return {};
    const char *shape = symbol.c_str() + prefix.size();
    const auto is = [&](const char *format, auto *...numbers) {
        int length = 0;
        return std::sscanf(shape, format, numbers..., &length) == int(sizeof...(numbers)) &&
               shape[length] == '\0' && length > 0;
    };
    Block block{"", 0, 0, 16, 1};
    if (is("u%2u_m%2uk%2uv%1u%n", &block.bits, &block.rows, &block.columns, &block.count))
        block.access = "read";
    else if (is("transform_u%2u_k%2uv%1u%n", &block.bits, &block.rows, &block.count) ||
             (block.count = 1, is("transform_u%2u_k%2u%n", &block.bits, &block.rows)))
        block.access = "read_transform";
    else if (block.rows = 16, is("transpose_u%2u_k%2u%n", &block.bits, &block.columns))
        block.access = "read_transpose";
    else
        return {};
    if (!is_block(block.access, block.bits, block.rows, block.columns, block.count))
        return {};
    const uint32_t value_bits = bits_of_value(block.access, block.bits, block.columns);
    const uint32_t values = block.rows * block.columns * block.count * block.bits / value_bits / 16;
    if (!is_one_of(values, {2, 4, 8, 16}))
        return {};

    Instance instance;
    instance.define("SYMBOL", "\"" + symbol + "\"");
    instance.define("FUNCTION", function);
    instance.define("READ", function + "_values");
    instance.define("VALUE", unsigned_of(value_bits));
    instance.define("VALUES", values);
    instance.define("RESULT", unsigned_of(value_bits) + std::to_string(values));
    return Builtin{"i" + std::to_string(value_bits) + "x" + std::to_string(values) +
                       "(i64,i32,i32,i32,i32x2)",
                   block_text(symbol + ".values", function + "_values", block, value_bits) +
                       instance.around(builtin_block_2d_flat)};
}

} // namespace

std::optional<Builtin> find_builtin(const std::string &symbol, const std::string &function) {
    if (auto found = flat_read(symbol, function))
        return found;
    const std::optional<MangledName> mangled = demangle(symbol);
    if (!mangled)
        return {};
    if (auto found = dpas(symbol, *mangled, function))
        return found;
    return block_2d(symbol, *mangled, function);
}

bool compose_builtins(const std::vector<ImportedFunction> &imports, std::string &program,
                      std::string &error) {
    std::set<std::string> done;
    program.clear();
    for (const ImportedFunction &import : imports) {
        const std::optional<Builtin> builtin =
            find_builtin(import.name, "ze_builtin_" + std::to_string(done.size()));
        if (!builtin)
            continue;
        if (import.signature != builtin->signature) {
            error = "the module imports " + import.name + " as " + import.signature + ", which is " +
                    builtin->signature;
            return false;
        }
        if (done.insert(import.name).second)
            program += builtin->text;
    }
    if (!program.empty())
        program.insert(0, builtin_common);
    return true;
}

} // namespace ze_cpu
