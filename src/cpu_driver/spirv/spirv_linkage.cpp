// SPDX-License-Identifier: Apache-2.0
#include "spirv_linkage.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "spirv_walk.h"

namespace ze_cpu {
namespace {

using namespace spirv_walk;

class Reader {
public:
    Linkage read(const std::vector<uint32_t> &words) {
        each_instruction(words, [this](uint16_t op, std::span<const uint32_t> w) { visit(op, w); });
        Linkage result;
        result.has_linked_values =
            has_function_tables_ ||
            std::any_of(values_.begin(), values_.end(), [this](uint32_t id) { return imported_.count(id); });
        for (auto &[id, name] : linked_) {
            const bool is_function = functions_.count(id) != 0;
            if (!is_function && !variables_.count(id))
                continue;
            if (imported_.count(id))
                result.imports.push_back({id, is_function, name});
            else if (is_function && (kernels_.count(id) || kernel_names_.count(name)))
                result.kernels.push_back(id);
            else if (is_function && name.starts_with(group_function_prefix))
                result.group_functions.push_back({id, is_function, name});
            else
                result.exports.push_back({id, is_function, name});
        }
        for (const auto &[id, storage] : variables_)
            if (storage == spv::StorageClassCrossWorkgroup && !linked_.count(id))
                result.hidden.push_back(id);
        return result;
    }

private:
    void visit(uint16_t op, std::span<const uint32_t> w) {
        if (op == spv::OpEntryPoint && w.size() > 3) {
            kernels_.insert(w[2]);
            kernel_names_.insert(text(w.subspan(3)));
        } else if (op == spv::OpDecorate && w.size() > 4 && w[2] == spv::DecorationLinkageAttributes) {
            linked_[w[1]] = text(w.subspan(3));
            if (w.back() == spv::LinkageTypeImport)
                imported_.insert(w[1]);
        } else if (op == spv::OpFunction && w.size() > 2) {
            functions_.insert(w[2]);
        } else if (op == spv::OpVariable && w.size() > 3 && functions_.empty()) {
            // Builtin variables have other storage classes.
            if (w[3] == spv::StorageClassCrossWorkgroup || w[3] == spv::StorageClassUniformConstant)
                variables_[w[2]] = w[3];
            values_.insert(w.begin() + 4, w.end());
        } else if (is_composed(op)) { // operands: after type, result and the opcode if there is one
            const size_t from = op == spv::OpSpecConstantOp ? 4 : 3;
            values_.insert(w.begin() + long(std::min(from, w.size())), w.end());
        } else if (op == spv::OpConstantFunctionPointerINTEL) {
            has_function_tables_ = true;
        }
    }

    std::map<uint32_t, std::string> linked_;
    std::map<uint32_t, uint32_t> variables_; // storage classes
    std::set<uint32_t> imported_, functions_, kernels_;
    std::set<uint32_t> values_;          // ids in initialisers of variables, some literals
    std::set<std::string> kernel_names_; // translators also write a function with the kernel's name
    bool has_function_tables_ = false;
};

class Writer {
public:
    Writer(const std::vector<uint32_t> &words, const Rewrite &rewrite) : words_(words), rewrite_(rewrite) {}

    std::vector<uint32_t> write() {
        out_.assign(words_.begin(), words_.begin() + header_words);
        bound_ = words_[bound_word];
        each_instruction(words_, [this](uint16_t op, std::span<const uint32_t> w) { survey(op, w); });
        functions_begun_ = false;
        each_instruction(words_, [this](uint16_t op, std::span<const uint32_t> w) { visit(op, w); });
        if (!rewrite_.keep_functions)
            add_end();
        out_[bound_word] = bound_;
        return std::move(out_);
    }

private:
    /// First pass: what the module declares already, and which ids the rewrite removes.
    void survey(uint16_t op, std::span<const uint32_t> w) {
        if (op == spv::OpCapability && w.size() > 1)
            capabilities_.insert(w[1]);
        else if (op == spv::OpExtension)
            extensions_.insert(text(w.subspan(1)));
        else if (op == spv::OpExtInstImport && w.size() > 2 && is_debug_set(text(w.subspan(2))))
            debug_sets_.insert(w[1]);
        else if (op == spv::OpTypeInt && w.size() > 3 && w[2] == 64)
            ulong_ = w[1];
        else if (op == spv::OpDecorate && w.size() > 4 && w[2] == spv::DecorationLinkageAttributes)
            linkages_[w[1]] = w.back();
        if (op == spv::OpFunction)
            functions_begun_ = true;
        if (is_dropped_debug(op, w))
            gone_.insert(w[2]);
        if (is_dropped_import(op, w))
            gone_.insert(w[2]);
        if (!functions_begun_)
            if (const uint32_t id = global_result(op, w))
                global_ids_.insert(id);
    }

    void visit(uint16_t op, std::span<const uint32_t> w) {
        if (op == spv::OpFunction)
            functions_begun_ = true;
        if (op != spv::OpCapability)
            add_capabilities();
        if (is_annotation(op) || is_declaration(op) || op == spv::OpFunction)
            add_decorations();
        if (is_declaration(op) || op == spv::OpFunction)
            add_ulong();
        if (!keeps(op, w))
            return;
        if (op == spv::OpEntryPoint)
            entry_point(w);
        else if (op == spv::OpGroupDecorate)
            group_decorate(w);
        else if (op == spv::OpVariable && !functions_begun_ && rewrite_.addresses.count(w[2]))
            address(w[1], w[2], rewrite_.addresses.at(w[2]));
        else
            put(w);
    }

    bool keeps(uint16_t op, std::span<const uint32_t> w) const {
        if (!rewrite_.keep_functions && functions_begun_)
            return false;
        switch (op) {
        case spv::OpEntryPoint:
        case spv::OpExecutionMode:
        case spv::OpExecutionModeId:
            return rewrite_.keep_kernels && rewrite_.keep_functions;
        case spv::OpExtInstImport:
            return rewrite_.keep_debug_info || !debug_sets_.count(w[1]);
        case spv::OpExtInst:
            return !is_dropped_debug(op, w);
        case spv::OpName:
            return stays(w[1]);
        case spv::OpVariable:
            return !is_dropped_import(op, w);
        case spv::OpTypeInt:
            return w[1] != ulong_ || !needs_ulong();
        case spv::OpDecorate:
            if (w[2] == spv::DecorationLinkageAttributes && rewrite_.names.count(w[1]))
                return false; // add_decorations has written the new one
            return stays(w[1]);
        default:
            return !is_annotation(op) || op == spv::OpGroupDecorate || stays(w[1]);
        }
    }

    /// Whether names and decorations of an id stay: not if it is removed or becomes a constant
    /// address.
    bool stays(uint32_t id) const {
        return !gone_.count(id) && !rewrite_.addresses.count(id) &&
               (rewrite_.keep_functions || global_ids_.count(id));
    }

    bool is_dropped_debug(uint16_t op, std::span<const uint32_t> w) const {
        return !rewrite_.keep_debug_info && op == spv::OpExtInst && w.size() > 4 && debug_sets_.count(w[3]);
    }

    /// Whether the import of a variable is removed, because only variables are kept. The runtime
    /// gives no addresses in a program that lacks a symbol.
    bool is_dropped_import(uint16_t op, std::span<const uint32_t> w) const {
        if (rewrite_.keep_functions || op != spv::OpVariable || w.size() < 4)
            return false;
        const auto linkage = linkages_.find(w[2]);
        return linkage != linkages_.end() && linkage->second == spv::LinkageTypeImport;
    }

    bool needs_ulong() const { return !rewrite_.addresses.empty(); }

    void add_capabilities() {
        if (std::exchange(has_capabilities_, true))
            return;
        if (needs_ulong() && !capabilities_.count(spv::CapabilityInt64))
            put({2u << 16 | spv::OpCapability, spv::CapabilityInt64});
        if (rewrite_.called_by_pointer.empty())
            return;
        if (!capabilities_.count(spv::CapabilityIndirectReferencesINTEL))
            put({2u << 16 | spv::OpCapability, spv::CapabilityIndirectReferencesINTEL});
        if (!extensions_.count("SPV_INTEL_function_pointers"))
            put_with_text({spv::OpExtension}, "SPV_INTEL_function_pointers", {});
    }

    void add_decorations() {
        if (std::exchange(has_decorations_, true))
            return;
        for (const auto &[id, name] : rewrite_.names)
            if (!name.empty() && stays(id))
                put_with_text({spv::OpDecorate, id, spv::DecorationLinkageAttributes}, name,
                              {linkages_.count(id) ? linkages_.at(id) : uint32_t(spv::LinkageTypeExport)});
        for (uint32_t id : rewrite_.called_by_pointer)
            put({3u << 16 | spv::OpDecorate, id, spv::DecorationReferencedIndirectlyINTEL});
    }

    /// Declares the 64-bit integer type. A type may be declared only once, so an existing
    /// declaration moves to the front.
    void add_ulong() {
        if (!needs_ulong() || std::exchange(has_ulong_, true))
            return;
        if (!ulong_)
            ulong_ = bound_++;
        put({4u << 16 | spv::OpTypeInt, ulong_, 64, 0});
    }

    /// Ends the module with another type. Translators look for the continuation of a long constant
    /// behind it, and fail if the module ends there.
    void add_end() {
        const uint32_t structure = bound_++, pointer = bound_++;
        put({2u << 16 | spv::OpTypeStruct, structure});
        put({4u << 16 | spv::OpTypePointer, pointer, spv::StorageClassFunction, structure});
    }

    void address(uint32_t type, uint32_t id, uint64_t value) {
        const uint32_t constant = bound_++;
        put({5u << 16 | spv::OpConstant, ulong_, constant, uint32_t(value), uint32_t(value >> 32)});
        put({5u << 16 | spv::OpSpecConstantOp, type, id, spv::OpConvertUToPtr, constant});
    }

    /// The interface at the end of OpEntryPoint lists variables only, so those that become
    /// addresses are removed.
    void entry_point(std::span<const uint32_t> w) {
        const size_t fixed = 3 + text(w.subspan(3)).size() / 4 + 1;
        std::vector<uint32_t> kept(w.begin(), w.begin() + long(std::min(fixed, w.size())));
        for (size_t i = fixed; i < w.size(); i++)
            if (!rewrite_.addresses.count(w[i]))
                kept.push_back(w[i]);
        kept[0] = uint32_t(kept.size()) << 16 | spv::OpEntryPoint;
        put(kept);
    }

    void group_decorate(std::span<const uint32_t> w) {
        std::vector<uint32_t> kept(w.begin(), w.begin() + 2);
        for (uint32_t id : w.subspan(2))
            if (stays(id))
                kept.push_back(id);
        kept[0] = uint32_t(kept.size()) << 16 | spv::OpGroupDecorate;
        put(kept);
    }

    void put(std::span<const uint32_t> instruction) {
        out_.insert(out_.end(), instruction.begin(), instruction.end());
    }
    void put(std::initializer_list<uint32_t> instruction) {
        out_.insert(out_.end(), instruction.begin(), instruction.end());
    }
    void put_with_text(std::vector<uint32_t> instruction, const std::string &text,
                       std::initializer_list<uint32_t> after) {
        std::vector<uint32_t> words(text.size() / 4 + 1);
        std::memcpy(words.data(), text.data(), text.size());
        instruction.insert(instruction.end(), words.begin(), words.end());
        instruction.insert(instruction.end(), after);
        instruction[0] |= uint32_t(instruction.size()) << 16;
        put(instruction);
    }

    const std::vector<uint32_t> &words_;
    const Rewrite &rewrite_;
    std::vector<uint32_t> out_;
    uint32_t bound_ = 0, ulong_ = 0;
    bool functions_begun_ = false;
    bool has_capabilities_ = false, has_decorations_ = false, has_ulong_ = false; // already written
    std::set<uint32_t> capabilities_, debug_sets_, gone_, global_ids_;
    std::set<std::string> extensions_;
    std::map<uint32_t, uint32_t> linkages_; // export or import, by id
};

} // namespace

const Symbol *Linkage::find_export(const std::string &name) const {
    for (const Symbol &symbol : exports)
        if (symbol.name == name)
            return &symbol;
    return nullptr;
}

Linkage read_linkage(const std::vector<uint32_t> &words) {
    return Reader().read(words);
}

std::vector<uint32_t> rewrite_spirv(const std::vector<uint32_t> &words, const Rewrite &rewrite) {
    return Writer(words, rewrite).write();
}

} // namespace ze_cpu
