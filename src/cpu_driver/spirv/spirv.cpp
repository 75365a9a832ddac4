// SPDX-License-Identifier: Apache-2.0
#include "spirv.h"

#include <bit>
#include <set>
#include <unordered_map>

#include "spirv_calls.h"
#include "spirv_check.h"
#include "spirv_linkage.h"

namespace ze_cpu {
namespace {

using namespace spirv;

/// The reader's record of a type. Sizes are those of OpenCL C, where a vector of 3 elements
/// takes the room of 4.
struct Type {
    enum Kind { number, pointer, aggregate, structure, image, sampler, other } kind = other;
    uint32_t size = 0; // 0 = unknown
    uint32_t align = 1;
    uint32_t storage = 0; // storage class of a pointer
    uint32_t pointee = 0; // type that a pointer points to
    uint32_t padding = 0; // bytes at the end
};

struct Entry {
    uint32_t function;
    std::string name;
};

/// The OpenCL C attribute that an execution mode stands for; "" if there is none.
std::string attribute(const Instruction &i) {
    auto of_three = [&](const char *name) {
        return std::string(name) + "(" + std::to_string(i.word[3]) + "," + std::to_string(i.word[4]) + "," +
               std::to_string(i.word[5]) + ")";
    };
    if (i.word[2] == spv::ExecutionModeLocalSize && i.count >= 6)
        return of_three("reqd_work_group_size");
    if (i.word[2] == spv::ExecutionModeLocalSizeHint && i.count >= 6)
        return of_three("work_group_size_hint");
    if (i.word[2] == spv::ExecutionModeSubgroupSize && i.count >= 4)
        return "intel_reqd_sub_group_size(" + std::to_string(i.word[3]) + ")";
    if (i.word[2] != spv::ExecutionModeVecTypeHint || i.count < 4)
        return {};
    constexpr const char *types[] = {"char", "short", "int", "long", "half", "float", "double"};
    const uint32_t type = i.word[3] & 0xffff, components = i.word[3] >> 16;
    if (type >= sizeof types / sizeof types[0])
        return {};
    return std::string("vec_type_hint(") + types[type] + (components > 1 ? std::to_string(components) : "") +
           ")";
}

class Reader {
public:
    Reader(SpirvInfo &info, std::string &error) : info_(info), error_(error) {}

    bool run(const uint8_t *data, size_t size) {
        std::vector<uint32_t> &words = info_.words;
        if (!load_words(data, size, words, error_) || !check_spirv(words, ids_, error_))
            return false;
        for (size_t at = header_words; at < words.size(); at += words[at] >> 16)
            if (!visit({uint16_t(words[at] & 0xffff), words[at] >> 16, &words[at]}))
                return false;
        return finish();
    }

private:
    bool fail(const std::string &what) {
        error_ = "invalid SPIR-V: " + what;
        return false;
    }

    const Type &type(uint32_t id) const {
        static const Type unknown;
        auto found = types_.find(id);
        return found == types_.end() ? unknown : found->second;
    }

    bool visit(const Instruction &i) {
        const uint32_t *w = i.word;
        if (std::optional<ImportedFunction> function = runtime_function(i, ids_))
            runtime_functions_.emplace(function->name, *function);
        switch (i.op) {
        case spv::OpEntryPoint:
            return entry_point(i);
        case spv::OpExecutionMode:
            execution_mode(i);
            return true;
        case spv::OpDecorate:
            decorate(i);
            return true;
        case spv::OpGroupDecorate:
            for (uint32_t n = 2; n < i.count; n++)
                join_group(w[1], w[n]);
            return true;
        case spv::OpTypeVoid:
            spelling_[w[1]] = "v";
            return true;
        case spv::OpTypeBool:
            types_[w[1]] = {Type::number, 1, 1, 0, 0};
            spelling_[w[1]] = "b";
            return true;
        case spv::OpTypeInt:
        case spv::OpTypeFloat:
            spelling_[w[1]] = (i.op == spv::OpTypeInt ? "i" : "f") + std::to_string(w[2]);
            number(w[1], w[2]);
            return true;
        case spv::OpTypeVector:
            spelling_[w[1]] = spelling(w[2]) + "x" + std::to_string(w[3]);
            vector(w[1], w[2], w[3]);
            return true;
        case spv::OpTypeArray:
            array(w[1], w[2], w[3]);
            return true;
        case spv::OpTypeStruct:
            structure(i);
            return true;
        case spv::OpTypePointer:
            types_[w[1]] = {Type::pointer, 8, 8, w[2], w[3]};
            spelling_[w[1]] = "p" + std::to_string(w[2]);
            return true;
        case spv::OpTypeImage:
            types_[w[1]] = {Type::image, 0, 1, 0, 0};
            return true;
        case spv::OpTypeSampler:
            types_[w[1]] = {Type::sampler, 0, 1, 0, 0};
            return true;
        case spv::OpConstant:
            if (type(w[1]).kind == Type::number)
                constants_[w[2]] = i.count == 4   ? w[3]
                                   : i.count == 5 ? w[3] | uint64_t(w[4]) << 32
                                                  : UINT64_MAX;
            return true;
        case spv::OpSpecConstant:
        case spv::OpSpecConstantTrue:
        case spv::OpSpecConstantFalse:
            spec_constants_[w[2]] = type(w[1]).size;
            return true;
        case spv::OpFunction:
            function_ = w[2];
            functions_[function_] = {};
            results_[function_] = w[1];
            return true;
        case spv::OpFunctionParameter:
            functions_[function_].push_back(w[1]);
            return true;
        default:
            return true;
        }
    }

    bool entry_point(const Instruction &i) {
        const std::string_view name = text_at(i, 3);
        if (name.size() == (i.count - 3) * 4 || name.empty())
            return fail("an entry point without a name");
        if (i.word[1] == spv::ExecutionModelKernel)
            entries_.push_back({i.word[2], std::string(name)});
        return true;
    }

    void execution_mode(const Instruction &i) {
        KernelInfo &k = modes_[i.word[1]];
        if (i.word[2] == spv::ExecutionModeLocalSize && i.count >= 6)
            k.required_group_size = {i.word[3], i.word[4], i.word[5]};
        else if (i.word[2] == spv::ExecutionModeSubgroupSize && i.count >= 4)
            k.required_sub_group_size = i.word[3];
        else if (i.word[2] == spv::ExecutionModeSubgroupsPerWorkgroup && i.count >= 4)
            k.required_sub_groups = i.word[3];
        if (const std::string text = attribute(i); !text.empty())
            k.attributes += (k.attributes.empty() ? "" : " ") + text;
    }

    void decorate(const Instruction &i) {
        if (i.word[2] == spv::DecorationSpecId && i.count >= 4)
            spec_ids_[i.word[1]] = i.word[3];
        else if (i.word[2] == spv::DecorationCPacked)
            packed_.insert(i.word[1]);
        else if (i.word[2] == spv::DecorationLinkageAttributes &&
                 i.word[i.count - 1] == spv::LinkageTypeImport)
            imports_[i.word[1]] = text_at(i, 3); // check_spirv() has verified what follows the name
        else if (i.word[2] == spv::DecorationLinkageAttributes)
            exports_[std::string(text_at(i, 3))] = i.word[1];
    }

    std::string spelling(uint32_t type_id) const {
        auto found = spelling_.find(type_id);
        return found == spelling_.end() ? "?" : found->second;
    }

    std::string signature(uint32_t function) const {
        std::string text = spelling(results_.at(function)) + "(";
        for (uint32_t type_id : functions_.at(function))
            text += (text.back() == '(' ? "" : ",") + spelling(type_id);
        return text + ")";
    }

    /// Gives a target the decorations of its group. OpGroupDecorate comes after the group's own
    /// decorations and before all types and functions.
    void join_group(uint32_t group, uint32_t target) {
        if (packed_.count(group))
            packed_.insert(target);
    }

    void number(uint32_t id, uint32_t width) {
        if (width >= 1 && width <= 128) { // types of other widths get no size
            const uint32_t size = std::bit_ceil((width + 7) / 8);
            types_[id] = {Type::number, size, size, 0, 0};
        }
    }

    void vector(uint32_t id, uint32_t element, uint32_t count) {
        if (count <= 16 && type(element).kind == Type::number) {
            const uint32_t used = type(element).size * count, size = std::bit_ceil(used);
            types_[id] = {Type::aggregate, size, size, 0, 0, size - used};
        }
    }

    void array(uint32_t id, uint32_t element, uint32_t length_id) {
        const Type &of = type(element);
        auto length = constants_.find(length_id);
        Type t{Type::aggregate, 0, of.align, 0, 0};
        if (length != constants_.end() && of.size && length->second <= UINT32_MAX / of.size)
            t.size = uint32_t(length->second) * of.size; // otherwise the size is unknown
        types_[id] = t;
    }

    void structure(const Instruction &i) {
        uint64_t size = 0;
        uint32_t align = 1, padding = 0;
        bool known = true;
        const bool packed = packed_.count(i.word[1]) != 0;
        for (uint32_t n = 2; n < i.count; n++) {
            // A member whose type is not known here is a pointer, if OpTypeForwardPointer has
            // announced it. Other such types, an event for example, have no size.
            const bool is_pointer = !types_.count(i.word[n]) && ids_.forward_pointers.count(i.word[n]);
            const Type member = is_pointer ? Type{Type::pointer, 8, 8, 0, 0} : type(i.word[n]);
            const uint32_t member_align = packed ? 1 : member.align;
            known = known && member.size != 0;
            align = std::max(align, member_align);
            size = (size + member_align - 1) / member_align * member_align + member.size;
            padding = member.padding;
            if (size > UINT32_MAX / 2)
                known = false, size = 0;
        }
        const uint64_t rounded = (size + align - 1) / align * align;
        padding += uint32_t(rounded - size);
        types_[i.word[1]] = {Type::structure, known ? uint32_t(rounded) : 0, align, 0, 0, padding};
    }

    ArgInfo argument(uint32_t type_id) const {
        const Type &t = type(type_id);
        if (t.kind == Type::pointer && t.storage == spv::StorageClassWorkgroup)
            return {ArgKind::local, 0};
        if (t.kind == Type::pointer && t.storage != spv::StorageClassFunction)
            return {ArgKind::pointer, 8, 8};
        if (t.kind == Type::image || t.kind == Type::sampler)
            return {t.kind == Type::image ? ArgKind::image : ArgKind::sampler, 8, 8};
        // A kernel parameter that is a pointer with storage class Function is a structure by value.
        const Type &value = t.kind == Type::pointer ? type(t.pointee) : t;
        if (value.size == 0)
            return {ArgKind::opaque, 0};
        return {ArgKind::value, value.size, value.kind == Type::structure ? value.size - value.padding : 1};
    }

    bool has_group_function(const std::string &kernel) const {
        const auto found = exports_.find(std::string(group_function_prefix) + kernel);
        if (found == exports_.end() || !functions_.count(found->second))
            return false;
        const std::string text = signature(found->second);
        return text.starts_with("v(p") && text.ends_with(",i64,i64,i64,i64)") &&
               functions_.at(found->second).size() == 5;
    }

    bool finish() {
        for (const Entry &entry : entries_) {
            auto function = functions_.find(entry.function);
            if (function == functions_.end())
                return fail("the entry point " + entry.name + " has no function");
            KernelInfo kernel = modes_[entry.function];
            kernel.name = entry.name;
            for (uint32_t type_id : function->second)
                kernel.args.push_back(argument(type_id));
            kernel.has_group_function = has_group_function(kernel.name);
            info_.kernels.push_back(std::move(kernel));
        }
        for (auto [id, spec_id] : spec_ids_)
            if (auto found = spec_constants_.find(id); found != spec_constants_.end() && found->second)
                info_.constant_sizes[spec_id] = found->second;
        for (const auto &[id, name] : imports_) // variables may also be imported
            if (functions_.count(id))
                info_.imports.push_back({name, signature(id)});
        for (const auto &[name, function] : runtime_functions_)
            info_.imports.push_back(function);
        return true;
    }

    SpirvInfo &info_;
    std::string &error_;
    Ids ids_;
    uint32_t function_ = 0; // the one being read
    std::unordered_map<uint32_t, Type> types_;
    std::unordered_map<uint32_t, uint64_t> constants_;
    std::unordered_map<uint32_t, uint32_t> spec_constants_, spec_ids_;
    std::unordered_map<uint32_t, std::vector<uint32_t>> functions_; // parameter types by id
    std::unordered_map<uint32_t, KernelInfo> modes_;
    std::unordered_map<uint32_t, uint32_t> results_;            // result types by function's id
    std::unordered_map<uint32_t, std::string> spelling_;        // of types, as in ImportedFunction
    std::map<uint32_t, std::string> imports_;                   // names by id
    std::map<std::string, uint32_t> exports_;                   // ids by name
    std::map<std::string, ImportedFunction> runtime_functions_; // by name
    std::vector<Entry> entries_;
    std::set<uint32_t> packed_;
};

} // namespace

bool read_spirv(const uint8_t *data, size_t size, SpirvInfo &info, std::string &error) {
    info = {};
    return Reader(info, error).run(data, size);
}

std::string opaque_arguments(const SpirvInfo &info) {
    std::string text;
    for (const KernelInfo &kernel : info.kernels)
        for (size_t n = 0; n < kernel.args.size(); n++)
            if (kernel.args[n].kind == ArgKind::opaque)
                text += "kernel " + kernel.name + " cannot be created: argument " + std::to_string(n) +
                        " has no known size, or is a structure with an image, a sampler or the like\n";
    return text;
}

} // namespace ze_cpu
