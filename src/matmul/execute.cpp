// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "matmul/compiled.hpp"

namespace zemm::matmul {

namespace {

// The value of a host scalar as the kernels take it: scales as f32, zero points as s32.
float scalar_as_float(const zemm_memory &memory) {
    uint16_t half;
    float value;
    switch (memory.md.data_type) {
    case zemm_f32:
        std::memcpy(&value, memory.scalar, 4);
        return value;
    case zemm_bf16: {
        std::memcpy(&half, memory.scalar, 2);
        const uint32_t bits = uint32_t(half) << 16;
        std::memcpy(&value, &bits, 4);
        return value;
    }
    default: {
        _Float16 f16;
        std::memcpy(&f16, memory.scalar, 2);
        return float(f16);
    }
    }
}

int32_t scalar_as_int(const zemm_memory &memory) {
    int32_t value;
    switch (memory.md.data_type) {
    case zemm_s8:
        return int8_t(memory.scalar[0]);
    case zemm_u8:
        return memory.scalar[0];
    default:
        std::memcpy(&value, memory.scalar, 4);
        return value;
    }
}

struct bound_arguments {
    const std::map<int, zemm_memory_t> &memories;

    const zemm_memory *find(int arg) const {
        const auto found = memories.find(arg);
        return found == memories.end() ? nullptr : found->second;
    }
    void *pointer(int arg) const {
        const zemm_memory *memory = find(arg);
        return memory && !memory->parts.empty() ? memory->parts[0].handle : nullptr;
    }
    uint64_t address(int arg) const { return reinterpret_cast<uint64_t>(pointer(arg)); }
    float scale(int arg) const {
        const zemm_memory *memory = find(ZEMM_ARG_ATTR_SCALES | arg);
        return memory && memory->parts.empty() ? scalar_as_float(*memory) : 1.f;
    }
    int32_t zero_point(int arg) const {
        const zemm_memory *memory = find(ZEMM_ARG_ATTR_ZERO_POINTS | arg);
        return memory && memory->parts.empty() ? scalar_as_int(*memory) : 0;
    }
};

kernels::matmul_arguments by_value(const bound_arguments &b, const problem &p, const void *reductions) {
    kernels::matmul_arguments a = {};
    a.bias = b.address(ZEMM_ARG_BIAS);
    a.src_scale = b.address(ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_SRC);
    a.wei_scale = b.address(ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_WEIGHTS);
    a.dst_scale = b.address(ZEMM_ARG_ATTR_SCALES | ZEMM_ARG_DST);
    a.src_zp = b.address(ZEMM_ARG_ATTR_ZERO_POINTS | ZEMM_ARG_SRC);
    a.wei_zp = b.address(ZEMM_ARG_ATTR_ZERO_POINTS | ZEMM_ARG_WEIGHTS);
    a.dst_zp = b.address(ZEMM_ARG_ATTR_ZERO_POINTS | ZEMM_ARG_DST);
    a.reductions = reinterpret_cast<uint64_t>(reductions);
    a.host_src_scale = b.scale(ZEMM_ARG_SRC);
    a.host_wei_scale = b.scale(ZEMM_ARG_WEIGHTS);
    a.host_dst_scale = b.scale(ZEMM_ARG_DST);
    a.host_src_zp = b.zero_point(ZEMM_ARG_SRC);
    a.host_wei_zp = b.zero_point(ZEMM_ARG_WEIGHTS);
    a.host_dst_zp = b.zero_point(ZEMM_ARG_DST);
    for (size_t i = 0; i < p.attr.post_ops.entries.size(); ++i) {
        const int base = ZEMM_ARG_ATTR_MULTIPLE_POST_OP(int(i));
        const bool prelu = p.attr.post_ops.entries[i].kind == zemm_prelu;
        a.post_op_src1[i] = b.address(base | (prelu ? ZEMM_ARG_WEIGHTS : ZEMM_ARG_SRC_1));
        a.post_op_src2[i] = b.address(base | ZEMM_ARG_SRC_2);
    }
    return a;
}

} // namespace

void run(const std::shared_ptr<const compiled> &shared, const zemm_primitive_desc &pd, ze::stream &stream,
         const std::map<int, zemm_memory_t> &memories, std::span<const ze_event_handle_t> waits) {
    const compiled &c = *shared;
    stream.keep(shared);
    const bound_arguments bound{memories};
    const plan &plan = c.plan;
    const void *src = bound.pointer(ZEMM_ARG_SRC), *wei = bound.pointer(ZEMM_ARG_WEIGHTS);
    const void *dst = bound.pointer(ZEMM_ARG_DST), *block = c.block->data();
    const void *reductions = bound.pointer(ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS | ZEMM_ARG_SRC);
    if (plan.computes_reductions) {
        reductions = md_is_zero(pd.scratchpad) ? stream.scratchpad(plan.scratchpad_size)
                                               : bound.pointer(ZEMM_ARG_SCRATCHPAD);
        const ze::kernel_argument args[] = {
            {sizeof(void *), &src}, {sizeof(void *), &reductions}, {sizeof(void *), &block}};
        stream.launch(*c.reduce_src, {1, 1, 1}, plan.reduce_count, args, waits);
        waits = {};
    }
    const kernels::matmul_arguments values = by_value(bound, *pd.problem, reductions);
    const ze::kernel_argument args[] = {{sizeof(void *), &src},
                                        {sizeof(void *), &wei},
                                        {sizeof(void *), &dst},
                                        {sizeof(void *), &block},
                                        {sizeof(values), &values}};
    stream.launch(*c.matmul, {uint32_t(plan.row->group_x), 1, 1}, plan.group_count, args, waits);
}

} // namespace zemm::matmul
