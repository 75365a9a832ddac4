// SPDX-License-Identifier: Apache-2.0
#include "spirv_check.h"

#include <algorithm>
#include <cstring>

#include "spirv_words.h"

namespace ze_cpu {
namespace {

using namespace spirv;

/// What an id stands for: filled in the first pass, asked in the second.
struct Id {
    enum Kind : uint8_t { undefined, type, constant, value, function, label, other } kind = undefined;
    uint16_t op = 0;                // that defined it
    uint32_t type_id = 0;           // of constants, values and functions
    const uint32_t *word = nullptr; // the defining instruction
    uint32_t count = 0;
    uint32_t in_function = 0; // id of the function that labels and values are in
};

class Checker {
public:
    Checker(const std::vector<uint32_t> &words, std::string &error) : words_(words), error_(error) {}

    bool run() {
        return header() && each([this](const Instruction &i) { return collect(i); }) && finish_first() &&
               each([this](const Instruction &i) { return check(i); });
    }

private:
    bool fail(const std::string &what) {
        error_ = "invalid SPIR-V: " + what;
        return false;
    }
    bool fail(const Instruction &i, const char *what) {
        return fail("instruction " + std::to_string(i.op) + " at word " +
                    std::to_string(i.word - words_.data()) + " " + what);
    }

    bool header() {
        const uint32_t major = (words_[1] >> 16) & 0xff, minor = (words_[1] >> 8) & 0xff, bound = words_[3];
        if (words_[1] & 0xff0000ff || major != 1 || minor > 6)
            return fail("unknown version");
        // Every id takes words, which keeps a damaged bound from asking for gigabytes here and in the
        // runtime.
        if (bound == 0 || bound > 0x3fffff || bound > words_.size() * 64)
            return fail("id bound out of range");
        if (words_[4] != 0)
            return fail("reserved schema word is not zero");
        ids_.resize(bound);
        return true;
    }

    template <class Visit> bool each(Visit visit) {
        for (size_t at = header_words; at < words_.size();) {
            const Instruction i{uint16_t(words_[at] & 0xffff), words_[at] >> 16, &words_[at]};
            if (i.count == 0 || i.count > words_.size() - at)
                return fail("an instruction of " + std::to_string(i.count) + " words at word " +
                            std::to_string(at) + " exceeds the module of " + std::to_string(words_.size()) +
                            " words");
            if (!visit(i))
                return false;
            at += i.count;
        }
        return true;
    }

    // First pass.

    bool collect(const Instruction &i) {
        has_extension_ = has_extension_ || i.op == op_extension;
        if (i.op >= first_extension_op) {
            if (!has_extension_) // extensions are declared before anything uses them
                return fail(i, "is of no declared extension");
            all_known_ = false;
        }
        const ResultShape shape = result_shape(i.op);
        const uint32_t operands = 1 + shape.has_type + shape.has_result;
        if (i.count < std::max(least_words(i.op), operands))
            return fail(i, "is too short");
        if (is_no_op(i.op))
            return fail(i, "does not exist");
        if (exact_words(i.op) && i.count != exact_words(i.op))
            return fail(i, "has the wrong number of operands");
        has_memory_model_ = has_memory_model_ || i.op == op_memory_model;
        if (i.op == op_function)
            function_ = i.word[2];
        if (shape.has_result) {
            const uint32_t id = i.word[operands - 1];
            if (id == 0 || id >= ids_.size() || ids_[id].kind != Id::undefined)
                return fail(i, "has no valid result id");
            ids_[id] = {
                kind_of(i.op, shape), i.op, shape.has_type ? i.word[1] : 0, i.word, i.count, function_};
        }
        if (!function_order(i))
            return false;
        if (i.op == op_function_end)
            function_ = 0;
        return true;
    }

    static Id::Kind kind_of(uint16_t op, ResultShape shape) {
        if (op == op_function)
            return Id::function;
        if (op == op_label)
            return Id::label;
        if (shape.has_type)
            return op >= 41 && op <= 52 ? Id::constant : Id::value;
        return (op >= 19 && op <= 38) || op == 322 || op == 327 ? Id::type : Id::other;
    }

    bool function_order(const Instruction &i) {
        const bool in_function = function_ != 0;
        switch (i.op) {
        case op_function:
            if (open_function_)
                return fail(i, "begins a function within a function");
            open_function_ = true;
            has_functions_ = true;
            return true;
        case op_function_parameter:
            return (in_function && !in_block_) || fail(i, "is outside of a function's head");
        case op_function_end:
            if (!open_function_ || in_block_)
                return fail(i, "ends a function within a block");
            open_function_ = false;
            return true;
        case op_label:
            if (!open_function_ || in_block_)
                return fail(i, "begins a block at the wrong place");
            in_block_ = true;
            return true;
        default:
            break;
        }
        if (is_terminator(i.op)) {
            if (!in_block_)
                return fail(i, "ends a block outside of one");
            in_block_ = false;
        } else if (open_function_ && !in_block_ && i.op != op_line && i.op != op_no_line && i.op != op_nop) {
            return fail(i, "is outside of a block");
        } else if (!open_function_ && i.op >= first_body_op && i.op < first_extension_op &&
                   i.op != op_no_line && !has_global_use(i.op)) {
            return fail(i, "is outside of a function");
        }
        return true;
    }

    bool finish_first() {
        if (open_function_)
            return fail("the module ends within a function");
        if (!has_memory_model_)
            return fail("no memory model");
        if (!has_functions_)
            return fail("no functions"); // what is left of a module that was cut off early
        return true;
    }

    // Second pass. Ids that an extension's instructions may define are not known, so with any of those in the
    // module an undefined id is let pass.

    const Id &id(uint32_t n) const {
        static const Id none;
        return n < ids_.size() ? ids_[n] : none;
    }
    bool in_range(uint32_t n) const { return n != 0 && n < ids_.size(); }
    bool is(uint32_t n, std::initializer_list<Id::Kind> kinds) const {
        if (!in_range(n))
            return false;
        const Id::Kind kind = ids_[n].kind;
        if (kind == Id::undefined)
            return !all_known_;
        return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
    }
    bool is_type(uint32_t n) const { return is(n, {Id::type}); }
    bool is_value(uint32_t n) const { return is(n, {Id::constant, Id::value}); }
    bool is_type_of(uint32_t n, uint16_t op) const { return is_type(n) && (id(n).op == op || !id(n).op); }
    bool is_op(uint32_t n, std::initializer_list<uint16_t> ops) const {
        return (in_range(n) && !id(n).op && !all_known_) ||
               std::find(ops.begin(), ops.end(), id(n).op) != ops.end();
    }
    bool is_scalar(uint32_t n) const {
        return is_type(n) && (!id(n).op || (id(n).op >= 20 && id(n).op <= 22));
    }
    bool is_label_here(uint32_t n, uint32_t function) const {
        return is(n, {Id::label}) && (id(n).kind != Id::label || id(n).in_function == function);
    }
    /// The type that a value of pointer type points to; 0 = unknown or no pointer.
    uint32_t pointee(uint32_t value) const {
        const Id &type = id(id(value).type_id);
        return type.op == op_type_pointer && type.count >= 4 ? type.word[3] : 0;
    }
    bool is_pointer(uint32_t value) const {
        if (!is_value(value))
            return false;
        const Id &type = id(id(value).type_id);
        return type.op == op_type_pointer || type.kind == Id::undefined;
    }

    bool check(const Instruction &i) {
        const ResultShape shape = result_shape(i.op);
        if (shape.has_type && !is_type(i.word[1]))
            return fail(i, "has no valid type");
        const uint32_t first = 1 + shape.has_type + shape.has_result;
        const uint32_t ids = leading_ids(i.op);
        for (uint32_t n = 0; n < ids && first + n < i.count; n++) {
            const uint32_t operand = i.word[first + n];
            if (!in_range(operand) || (all_known_ && id(operand).kind == Id::undefined))
                return fail(i, "uses an id that is not defined");
        }
        if (i.op == op_function)
            function_ = i.word[2];
        return check_kinds(i, first) || fail(i, "has an operand of the wrong kind");
    }

    bool all_values(const Instruction &i, uint32_t from) const {
        for (uint32_t n = from; n < i.count; n++)
            if (!is_value(i.word[n]))
                return false;
        return true;
    }
    bool all_types(const Instruction &i, uint32_t from) const {
        for (uint32_t n = from; n < i.count; n++)
            if (!is_type(i.word[n]))
                return false;
        return true;
    }

    bool check_kinds(const Instruction &i, uint32_t first) {
        const uint32_t *w = i.word;
        switch (i.op) {
        case op_capability:
            return i.count == 2 && (w[1] <= 71 || (has_extension_ && w[1] >= 4400 && w[1] < 8192));
        case op_memory_model:
            return i.count == 3 && w[1] <= 2 && w[2] <= 2;
        case op_entry_point:
            return w[1] <= 6 && is(w[2], {Id::function}) && ends_in_string(i, 3, false);
        case op_name:
            return ends_in_string(i, 2, true);
        case op_extension:
            return ends_in_string(i, 1, true);
        case op_ext_inst_import:
            return ends_in_string(i, 2, true) && known_set(i);
        case op_decorate:
            return decoration_fits(i);
        case op_execution_mode:
            return is(w[1], {Id::function}) && mode_fits(i);
        case op_source:
            // Unknown, OpenCL C, OpenCL C++, C++ for OpenCL: the runtime has no use for others.
            return (w[1] == 0 || w[1] == 3 || w[1] == 4 || w[1] == 6) &&
                   (i.count == 3 || id(w[3]).op == op_string);
        case op_type_int:
            return i.count == 4 && w[2] >= 1 && w[2] <= 64 && w[3] <= 1;
        case op_type_float:
            return w[2] == 16 || w[2] == 32 || w[2] == 64;
        case op_type_vector:
            return is_scalar(w[2]) && vector_count(w[3]);
        case op_type_array:
            return is_type(w[2]) && is(w[3], {Id::constant});
        case op_type_struct:
        case op_type_function:
            return all_types(i, 2);
        case op_type_pointer:
            return i.count == 4 && (w[2] <= 12 || w[2] >= 4400) && is_type(w[3]);
        case op_constant:
        case op_spec_constant:
            return number_fits(i);
        case op_constant_composite:
        case op_spec_constant_composite:
            return composite_fits(i);
        case op_function:
            return (w[3] & ~0x1000fu) == 0 && is_type_of(w[4], op_type_function);
        case op_function_call:
            return is(w[3], {Id::function}) && all_values(i, 4) && call_fits(i);
        case op_variable:
            return is_type_of(w[1], op_type_pointer) && (w[3] <= 12 || w[3] >= 4400);
        case op_load:
            return is_pointer(w[3]) && same(pointee(w[3]), w[1]) && access_fits(i, 4);
        case op_store:
            return is_pointer(w[1]) && is_value(w[2]) && same(pointee(w[1]), id(w[2]).type_id) &&
                   access_fits(i, 3);
        case op_copy_memory:
            return is_pointer(w[1]) && is_pointer(w[2]) && same(pointee(w[1]), pointee(w[2])) &&
                   access_fits(i, 3);
        case op_composite_insert:
            return i.count >= 5 && is_value(w[3]) && is_value(w[4]) && same(id(w[4]).type_id, w[1]);
        case op_type_opaque:
            return ends_in_string(i, 2, true);
        case op_ext_inst: // some take literals among their operands: vloadn, vstore_half_r
            return is(w[3], {Id::other}) && id(w[3]).op == op_ext_inst_import && w[4] < 512;
        case op_branch:
            return i.count == 2 && is_label_here(w[1], function_);
        case op_branch_conditional:
            return i.count >= 4 && is_value(w[1]) && is_label_here(w[2], function_) &&
                   is_label_here(w[3], function_);
        case op_switch:
            return i.count >= 3 && is_value(w[1]) && is_label_here(w[2], function_);
        case op_phi:
            for (uint32_t n = 3; n < i.count; n += 2)
                if (n + 1 >= i.count || !is_value(w[n]) || !is_label_here(w[n + 1], function_))
                    return false;
            return true;
        default:
            break;
        }
        if (same_type_operands(i.op)) {
            if (i.count < 4)
                return false;
            for (uint32_t n = 3; n < i.count; n++)
                if (!is_value(w[n]) || !same(id(w[n]).type_id, w[1]))
                    return false;
            return true;
        }
        if (i.op == op_vector_shuffle || i.op == op_composite_extract)
            for (uint32_t n = 0; n < leading_ids(i.op); n++)
                if (first + n >= i.count || !is_value(i.word[first + n]))
                    return false;
        // Other instructions of function bodies whose operands are all ids take values only.
        return i.op < first_body_op || leading_ids(i.op) != UINT32_MAX || all_values(i, first);
    }

    /// A literal string begins at word `at`; its zero byte is within the instruction, and in the last word of
    /// it if nothing may follow.
    static bool ends_in_string(const Instruction &i, uint32_t at, bool is_last) {
        if (at >= i.count)
            return false;
        const char *text = reinterpret_cast<const char *>(i.word + at);
        const size_t room = (i.count - at) * 4, length = strnlen(text, room);
        for (size_t n = length; n < (length / 4 + 1) * 4 && n < room; n++)
            if (text[n] != 0)
                return false;
        return length < room && (!is_last || length / 4 == room / 4 - 1);
    }
    static bool known_set(const Instruction &i) {
        const std::string name = reinterpret_cast<const char *>(i.word + 2);
        return name == "OpenCL.std" || name == "OpenCL.DebugInfo.100" || name == "SPIRV.debug" ||
               name.rfind("NonSemantic.", 0) == 0;
    }
    bool mode_fits(const Instruction &i) const {
        const uint32_t mode = i.word[2];
        if (mode >= first_extension_op)
            return has_extension_ || mode <= 4463; // rounding and denormals are of the core since 1.4
        const bool of_kernels = (mode >= mode_local_size && mode <= 18) || (mode >= 30 && mode <= 39);
        const bool three = mode == mode_local_size || mode == 18 || mode >= 38;
        const bool none = mode == 31 || mode == 33 || mode == 34;
        return of_kernels && i.count == 3u + (three ? 3 : none ? 0 : 1);
    }
    bool decoration_fits(const Instruction &i) const {
        const uint32_t last = i.word[i.count - 1];
        switch (i.word[2]) {
        case decoration_func_param_attr:
            return i.count == 4 &&
                   is_op(i.word[1], {op_function, op_function_parameter, op_decoration_group}) &&
                   (last <= 7 || (has_extension_ && last >= 4400));
        case decoration_linkage:
            return i.count >= 5 && last <= 2 && ends_in_string(i, 3, false);
        case decoration_alignment:
            return i.count == 4 && last != 0 && (last & (last - 1)) == 0;
        case decoration_built_in:
            return i.count == 4 && (last <= 43 || (has_extension_ && last >= 4400));
        default:
            return i.word[2] <= 47 || has_extension_;
        }
    }

    bool same(uint32_t a, uint32_t b) const { return a == b || ((a == 0 || b == 0) && !all_known_); }
    static bool vector_count(uint32_t n) { return (n >= 2 && n <= 4) || n == 8 || n == 16; }
    bool access_fits(const Instruction &i, uint32_t at) const {
        if (i.count <= at)
            return true;
        const uint32_t mask = i.word[at];
        if (mask & ~7u && !has_extension_) // volatile, aligned, nontemporal
            return false;
        return !(mask & 2) || (i.count > at + 1 && (i.word[at + 1] & (i.word[at + 1] - 1)) == 0);
    }
    bool number_fits(const Instruction &i) const {
        const Id &type = id(i.word[1]);
        if (type.kind == Id::undefined)
            return !all_known_;
        return (type.op == op_type_int || type.op == op_type_float) &&
               i.count == 3 + (type.word[2] + 31) / 32;
    }
    bool composite_fits(const Instruction &i) const {
        for (uint32_t n = 3; n < i.count; n++)
            if (!is(i.word[n], {Id::constant, Id::value, Id::function})) // values: the addresses of variables
                return false;
        const Id &type = id(i.word[1]);
        if (type.op == op_type_vector)
            return i.count - 3 == type.word[3];
        return type.op != op_type_struct || i.count - 3 == type.count - 2;
    }
    bool call_fits(const Instruction &i) const {
        const Id &callee = id(i.word[3]);
        if (callee.kind != Id::function)
            return !all_known_;
        const Id &type = id(callee.word[4]);
        if (type.op != op_type_function)
            return !all_known_;
        if (type.count - 3 != i.count - 4 || !same(callee.type_id, i.word[1]))
            return false;
        for (uint32_t n = 4; n < i.count; n++)
            if (!same(id(i.word[n]).type_id, type.word[n - 1]))
                return false;
        return true;
    }

    const std::vector<uint32_t> &words_;
    std::string &error_;
    std::vector<Id> ids_;
    uint32_t function_ = 0; // the one that the pass is in
    bool all_known_ = true, has_extension_ = false, has_memory_model_ = false, has_functions_ = false;
    bool open_function_ = false, in_block_ = false;
};

} // namespace

bool check_spirv(const std::vector<uint32_t> &words, std::string &error) {
    return Checker(words, error).run();
}

} // namespace ze_cpu
