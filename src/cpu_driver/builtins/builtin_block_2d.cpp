// SPDX-License-Identifier: Apache-2.0
//
// Recognises imported 2-D block reads, writes and prefetches, and composes their software versions
// (builtins/block_2d.cl).
#include "builtin_families.h"

#include <cstdio>

namespace ze_cpu {
namespace {

/// Whether cl_intel_subgroup_2d_block_io has a block of this shape.
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

/// Bits of a value that a lane holds. A transforming read packs elements of neighbouring rows into
/// 32 bits. Where a row has 32 elements, each of the 16 lanes holds a pair of them.
uint32_t bits_of_value(const std::string &access, uint32_t bits, uint32_t columns) {
    return access == "read_transform" ? 32 : columns == 32 ? 2 * bits : bits;
}

std::string block_text(const std::string &symbol, const std::string &function, const Block &block,
                       uint32_t value_bits) {
    Instance instance(symbol, function);
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

} // namespace

/// Recognises these functions (a prefetch has no values):
///
///     intel_sub_group_2d_block_<access>_<bits>b_<rows>r<columns>x<count>c(
///         base, width, height, pitch, coord, values)
std::optional<Builtin> find_block_2d(const std::string &symbol, const MangledName &mangled,
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

/// Recognises the names that Intel's compiler itself has for these reads (older versions have no
/// other):
///
///     __builtin_IB_subgroup_block_read_flat_<shape>(base, width - 1, height - 1, pitch - 1, coord)
///
/// <shape> is u<bits>_m<rows>k<columns>v<count>, transform_u<bits>_k<rows>[v<count>] or
/// transpose_u32_k<columns>. The values are the function's result. For 8-bit elements (and more
/// than one row) they are ints, so that eight lanes together hold a row of 32 bytes: the form in
/// which find_flat_dpas() takes them.
std::optional<Builtin> find_flat_block_2d(const std::string &symbol, const std::string &function) {
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
    const bool has_ints = block.access == "read" && block.bits == 8 && block.rows > 1;
    const uint32_t value_bits = has_ints ? 32 : bits_of_value(block.access, block.bits, block.columns);
    const uint32_t values = block.rows * block.columns * block.count * block.bits / value_bits / 16;
    if (!is_one_of(values, {2, 4, 8, 16}))
        return {};

    Instance instance(symbol, function);
    instance.define("READ", function + "_values");
    instance.define("VALUE", unsigned_of(value_bits));
    instance.define("VALUES", values);
    instance.define("RESULT", unsigned_of(value_bits) + std::to_string(values));
    return Builtin{"i" + std::to_string(value_bits) + "x" + std::to_string(values) +
                       "(i64,i32,i32,i32,i32x2)",
                   block_text(symbol + ".values", function + "_values", block, value_bits) +
                       instance.around(builtin_block_2d_flat)};
}

} // namespace ze_cpu
