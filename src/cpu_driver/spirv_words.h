// SPDX-License-Identifier: Apache-2.0
//
// The numbers of the SPIR-V specification that the reader uses, and what it needs to know about the shape of
// instructions: opcodes below 400 are the core grammar of versions 1.0 to 1.6.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ze_cpu::spirv {

inline constexpr uint32_t magic = 0x07230203;
inline constexpr size_t header_words = 5;

enum Op : uint16_t {
    op_nop = 0,
    op_source = 3,
    op_name = 5,
    op_string = 7,
    op_line = 8,
    op_extension = 10,
    op_ext_inst_import = 11,
    op_ext_inst = 12,
    op_memory_model = 14,
    op_entry_point = 15,
    op_execution_mode = 16,
    op_capability = 17,
    op_type_void = 19,
    op_type_bool = 20,
    op_type_int = 21,
    op_type_float = 22,
    op_type_vector = 23,
    op_type_image = 25,
    op_type_sampler = 26,
    op_type_array = 28,
    op_type_struct = 30,
    op_type_opaque = 31,
    op_type_pointer = 32,
    op_type_function = 33,
    op_constant = 43,
    op_constant_composite = 44,
    op_spec_constant_true = 48,
    op_spec_constant_false = 49,
    op_spec_constant = 50,
    op_spec_constant_composite = 51,
    op_function = 54,
    op_function_parameter = 55,
    op_function_end = 56,
    op_function_call = 57,
    op_variable = 59,
    op_load = 61,
    op_store = 62,
    op_copy_memory = 63,
    op_decorate = 71,
    op_decoration_group = 73,
    op_group_decorate = 74,
    op_vector_shuffle = 79,
    op_composite_extract = 81,
    op_composite_insert = 82,
    op_phi = 245,
    op_label = 248,
    op_branch = 249,
    op_branch_conditional = 250,
    op_switch = 251,
    op_no_line = 317,
};

inline constexpr uint32_t execution_model_kernel = 6;
inline constexpr uint32_t mode_local_size = 17, mode_subgroup_size = 35, mode_subgroups_per_workgroup = 36;
inline constexpr uint32_t decoration_spec_id = 1, decoration_packed = 10, decoration_built_in = 11,
                          decoration_func_param_attr = 38, decoration_linkage = 41, decoration_alignment = 44;
inline constexpr uint32_t linkage_import = 1;
inline constexpr uint32_t storage_workgroup = 4, storage_function = 7;

struct Instruction {
    uint16_t op;
    uint32_t count; // words, with the first
    const uint32_t *word;
};

struct Range {
    uint16_t first, last;
};

template <size_t n> constexpr bool in(const Range (&ranges)[n], uint16_t op) {
    for (const Range &r : ranges)
        if (op >= r.first && op <= r.last)
            return true;
    return false;
}

/// Opcodes from here on belong to extensions: their shape is not known here.
inline constexpr uint16_t first_extension_op = 400;

struct ResultShape {
    bool has_type = false, has_result = false;
};

constexpr ResultShape result_shape(uint16_t op) {
    constexpr Range no_result[] = {{0, 0},     {2, 6},     {8, 8},     {10, 10},   {14, 17},   {39, 39},
                                   {56, 56},   {62, 64},   {71, 72},   {74, 75},   {99, 99},   {218, 221},
                                   {224, 225}, {228, 228}, {246, 247}, {249, 257}, {260, 260}, {280, 281},
                                   {287, 288}, {297, 298}, {301, 302}, {317, 317}, {319, 319}, {329, 332}};
    constexpr Range no_type[] = {{7, 7}, {11, 11}, {19, 38}, {73, 73}, {248, 248}, {322, 322}, {327, 327}};
    if (op >= first_extension_op || in(no_result, op))
        return {};
    return {!in(no_type, op), true};
}

/// How many of the operands after type and result are ids for sure; UINT32_MAX = all of them.
constexpr uint32_t leading_ids(uint16_t op) {
    constexpr Range all[] = {{26, 30},   {33, 37},   {44, 44},   {51, 51},   {55, 57},   {60, 60},
                             {65, 67},   {69, 70},   {74, 74},   {77, 78},   {80, 80},   {83, 84},
                             {86, 86},   {100, 107}, {109, 122}, {124, 124}, {126, 191}, {194, 205},
                             {207, 215}, {218, 225}, {227, 242}, {245, 245}, {249, 249}, {252, 255},
                             {259, 263}, {274, 288}, {291, 304}};
    constexpr Range two[] = {{62, 64}, {79, 79}, {82, 82}, {246, 246}, {251, 251}};
    constexpr Range one[] = {{5, 6},   {8, 8},   {12, 12}, {16, 16},   {23, 25},   {39, 39},   {61, 61},
                             {68, 68}, {71, 72}, {81, 81}, {123, 123}, {247, 247}, {256, 257}, {331, 332}};
    if (in(all, op))
        return UINT32_MAX;
    return in(two, op) ? 2 : op == 250 ? 3 : in(one, op) ? 1 : 0;
}

/// Words that an instruction has at least, for those that the reader takes words from.
constexpr uint32_t least_words(uint16_t op) {
    switch (op) {
    case op_type_bool:
        return 2;
    case op_source:
    case op_memory_model:
    case op_execution_mode:
    case op_type_float:
    case op_decorate:
    case op_spec_constant_true:
    case op_spec_constant_false:
    case op_function_parameter:
        return 3;
    case op_entry_point:
    case op_type_int:
    case op_type_vector:
    case op_type_array:
    case op_type_pointer:
    case op_constant:
    case op_spec_constant:
    case op_function_call:
    case op_variable:
    case op_load:
        return 4;
    case op_store:
    case op_copy_memory:
        return 3;
    case op_capability:
        return 2;
    case op_function:
    case op_ext_inst:
        return 5;
    case op_type_struct:
    case op_group_decorate:
    case op_label:
        return 2;
    default:
        return 1;
    }
}

/// Words that an instruction has, for those that have neither optional operands nor lists; 0 = others.
constexpr uint32_t exact_words(uint16_t op) {
    constexpr Range one[] = {{0, 0}, {56, 56}, {218, 219}, {252, 253}, {255, 255}, {317, 317}};
    constexpr Range two[] = {{17, 17},   {19, 20},   {26, 26},   {34, 37},   {73, 73},  {220, 221},
                             {248, 249}, {254, 254}, {297, 298}, {322, 322}, {327, 327}};
    constexpr Range three[] = {{1, 1},     {14, 14},   {27, 27},   {29, 29},   {38, 39},
                               {41, 42},   {46, 46},   {48, 49},   {55, 55},   {225, 225},
                               {247, 247}, {256, 257}, {299, 299}, {301, 301}, {303, 303}};
    constexpr Range four[] = {{8, 8},     {21, 21},   {23, 24},   {28, 28},   {32, 32},   {69, 69},
                              {83, 84},   {100, 102}, {104, 104}, {106, 107}, {109, 122}, {124, 124},
                              {126, 127}, {154, 160}, {168, 168}, {200, 200}, {204, 205}, {207, 215},
                              {224, 224}, {246, 246}, {260, 260}, {282, 282}, {300, 300}, {302, 302},
                              {316, 316}, {319, 319}, {321, 321}, {324, 324}, {328, 329}, {333, 333}};
    constexpr Range five[] = {{54, 54},   {68, 68},   {77, 77},   {86, 86},   {103, 103}, {105, 105},
                              {123, 123}, {128, 152}, {161, 167}, {170, 191}, {194, 199}, {228, 228},
                              {261, 262}, {280, 281}, {334, 336}, {338, 340}, {343, 344}};
    constexpr Range six[] = {{45, 45},   {60, 60},   {78, 78},   {169, 169}, {202, 203}, {227, 227},
                             {232, 233}, {263, 271}, {283, 284}, {287, 288}, {304, 304}, {318, 318},
                             {323, 323}, {337, 337}, {341, 342}, {345, 348}, {365, 366}};
    constexpr Range seven[] = {{201, 201}, {229, 229}, {234, 242}, {274, 275},
                               {278, 279}, {291, 291}, {295, 296}, {326, 326}};
    constexpr Range eight[] = {{285, 286}, {293, 294}, {325, 325}};
    constexpr Range nine[] = {{230, 231}, {259, 259}, {276, 277}};
    return in(one, op)     ? 1
           : in(two, op)   ? 2
           : in(three, op) ? 3
           : in(four, op)  ? 4
           : in(five, op)  ? 5
           : in(six, op)   ? 6
           : in(seven, op) ? 7
           : in(eight, op) ? 8
           : in(nine, op)  ? 9
                           : 0;
}

/// Numbers below first_extension_op that no instruction has.
constexpr bool is_no_op(uint16_t op) {
    constexpr Range gaps[] = {{9, 9},     {13, 13},   {18, 18},   {40, 40},   {47, 47},   {53, 53},
                              {58, 58},   {76, 76},   {85, 85},   {108, 108}, {125, 125}, {153, 153},
                              {192, 193}, {206, 206}, {216, 217}, {222, 223}, {226, 226}, {243, 244},
                              {258, 258}, {272, 273}, {289, 290}, {367, 399}};
    return in(gaps, op);
}

/// Instructions from here on, but for those of has_global_use, belong into function bodies.
inline constexpr uint16_t first_body_op = 57;
constexpr bool has_global_use(uint16_t op) {
    constexpr Range global[] = {{59, 59}, {71, 75}, {322, 323}, {327, 327}, {330, 332}};
    return in(global, op);
}

/// Arithmetic whose operands have the type of the result.
constexpr bool same_type_operands(uint16_t op) {
    constexpr Range same[] = {{126, 141}, {164, 168}, {197, 200}};
    return in(same, op);
}

constexpr bool is_terminator(uint16_t op) {
    return (op >= 249 && op <= 255) || op == 4416;
}

/// Copies the module into words of this machine's order; refuses what is no SPIR-V at all.
inline bool load_words(const uint8_t *data, size_t size, std::vector<uint32_t> &words, std::string &error) {
    if (!data || size < header_words * 4 || size % 4 != 0) {
        error = "invalid SPIR-V: " + std::to_string(size) + " bytes are no module";
        return false;
    }
    words.resize(size / 4);
    for (size_t i = 0; i < words.size(); i++)
        words[i] = uint32_t(data[4 * i]) | uint32_t(data[4 * i + 1]) << 8 | uint32_t(data[4 * i + 2]) << 16 |
                   uint32_t(data[4 * i + 3]) << 24;
    if (words[0] != magic) {
        error = "invalid SPIR-V: wrong magic number";
        return false;
    }
    return true;
}

} // namespace ze_cpu::spirv
