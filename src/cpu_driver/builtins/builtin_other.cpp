// SPDX-License-Identifier: Apache-2.0
//
// Recognises the imported builtins that are of no larger family, and composes their software
// versions (builtins/other.cl).
#include "builtin_families.h"

#include <algorithm>

namespace ze_cpu {
namespace {

/// Whether `text` is `prefix`, alone or with a vector width (2, 4, 8 or 16) behind it. `width` is
/// that number, or 1.
bool has_width(const std::string &text, const std::string &prefix, uint32_t &width) {
    if (text.rfind(prefix, 0) != 0)
        return false;
    const std::string rest = text.substr(prefix.size());
    for (uint32_t n : {2, 4, 8, 16})
        if (rest == std::to_string(n)) {
            width = n;
            return true;
        }
    width = 1;
    return rest.empty();
}

Builtin make(const std::string &symbol, const std::string &function, const char *what,
             const std::string &signature, const std::string &vector = "") {
    Instance instance(symbol, function);
    instance.define(what, 1);
    instance.define("REAL", "float" + vector);
    instance.define("BITS", "uint" + vector);
    return {signature, instance.around(builtin_other)};
}

/// Recognises intel_convert_tfloat32<n>_as_float<n>(float<n>). Compilers declare it with and
/// without overloading, so the name may be mangled or not.
std::optional<Builtin> tf32(const std::string &symbol, const std::string &name, const std::string &function) {
    const size_t middle = name.find("_as_float");
    uint32_t from = 0, to = 0;
    if (middle == std::string::npos || !has_width(name.substr(0, middle), "intel_convert_tfloat32", from) ||
        !has_width(name.substr(middle), "_as_float", to) || from != to)
        return {};
    const std::string width = to == 1 ? "" : std::to_string(to), type = "f32" + (to == 1 ? "" : "x" + width);
    return make(symbol, function, "TF32", type + "(" + type + ")", width);
}

/// Recognises __builtin_IB_dp4a_<src><wei>(int sum, int src, int wei, bool saturate), the
/// compiler's own names. <src> and <wei> are s or u each.
std::optional<Builtin> dp4a(const std::string &symbol, const std::string &function) {
    const std::string prefix = "__builtin_IB_dp4a_",
                      pair = symbol.substr(std::min(prefix.size(), symbol.size()));
    if (symbol.rfind(prefix, 0) != 0 || pair.size() != 2 || pair.find_first_not_of("su") != std::string::npos)
        return {};
    Instance instance(symbol, function);
    instance.define("DP4A", 1);
    instance.define("A_VALUE", pair[0] == 's' ? "ze_i8" : "ze_u8");
    instance.define("B_VALUE", pair[1] == 's' ? "ze_i8" : "ze_u8");
    instance.define("SUM", pair == "uu" ? "uint" : "int");
    return Builtin{"i32(i32,i32,i32,b)", instance.around(builtin_other)};
}

} // namespace

std::optional<Builtin> find_other(const std::string &symbol, const MangledName *mangled,
                                  const std::string &function) {
    if (auto found = tf32(symbol, mangled ? mangled->name : symbol, function))
        return found;
    if (auto found = dp4a(symbol, function))
        return found;
    if (symbol == "__builtin_IB_lsc_prefetch_global_uint") // (pointer, offset, cache control)
        return make(symbol, function, "LINE_PREFETCH", "v(p5,i32,i32)");
    if (symbol == "_Z3fmaDhDhDh")
        return make(symbol, function, "FMA_HALF", "f16(f16,f16,f16)");
    if (!mangled || mangled->parameters.size() != 1)
        return {};
    const std::string &name = mangled->name;
    const MangledType &type = mangled->parameters[0];
    uint32_t width = 0;
    for (const char *bits : {"uc", "us", "ui", "ul"})
        if (has_width(name, std::string("intel_sub_group_block_prefetch_") + bits, width) &&
            type.kind == MangledType::pointer && type.address_space == 1)
            return make(symbol, function, "BLOCK_PREFETCH", "v(p5)");
    if (type.kind != MangledType::number || type.letter != 'j' || type.components != 1)
        return {};
    if (name == "intel_work_group_barrier_arrive")
        return make(symbol, function, "BARRIER_ARRIVE", "v(i32)");
    if (name == "intel_work_group_barrier_wait")
        return make(symbol, function, "BARRIER_WAIT", "v(i32)");
    return {};
}

} // namespace ze_cpu
