// SPDX-License-Identifier: Apache-2.0
// Local memory, many types, group sizes, properties. test_arguments.cpp has the sizes of arguments.
#include "ze_test.h"

#include <algorithm>

#include "spirv_edit.h"

static void local_sum(ze_module_handle_t of) {
    const auto kernel = make_kernel("local_sum", of);
    std::vector<int> a(256), sums(4);
    for (int i = 0; i < 256; i++)
        a[size_t(i)] = i;
    int *from = a.data(), *to = sums.data();
    set_args(kernel, from, to);
    OK(ze.zeKernelSetArgumentValue(kernel, 2, 0, nullptr)); // 0: not used, as with Intel's driver
    OK(ze.zeKernelSetArgumentValue(kernel, 2, 64 * sizeof(int), nullptr));
    launch(list, kernel, 4, 64);
    finish(list);
    for (int g = 0; g < 4; g++)
        CHECK(sums[size_t(g)] == 64 * 64 * g + 63 * 32);
}

TEST(local_memory) {
    local_sum(loaded("kernels.spv"));
}

/// Barriers as the instructions of SPV_INTEL_split_barrier, which llvm-spirv-15 does not write.
TEST(split_barriers) {
    SpirvModule code(read_file("kernels.spv"));
    std::vector<SpirvModule::Words> split;
    for (SpirvModule::Words &instruction : code.instructions) {
        split.push_back(instruction);
        if (op_of(instruction) != spv::OpControlBarrier)
            continue;
        split.back()[0] = 4u << 16 | spv::OpControlBarrierArriveINTEL;
        split.push_back(instruction);
        split.back()[0] = 4u << 16 | spv::OpControlBarrierWaitINTEL;
    }
    CHECK(split.size() > code.instructions.size());
    code.instructions = split;
    const auto after_capabilities =
        std::ranges::find_if(code.instructions, [](auto &i) { return op_of(i) != spv::OpCapability; });
    code.instructions.insert(after_capabilities,
                             {SpirvModule::made(spv::OpCapability, {spv::CapabilitySplitBarrierINTEL}),
                              SpirvModule::made(spv::OpExtension, with_text({}, "SPV_INTEL_split_barrier"))});
    Owned<ze_module_handle_t> split_module;
    OK(build(code.bytes(), &split_module));
    local_sum(split_module);
}

TEST(many_types) {
    const auto kernel = make_kernel("many_types");
    double out = 0, *pointer = &out;
    char c = 1;
    unsigned char u[4] = {0, 0, 0, 2};
    short s = 3, half = 0x4800; // 8.0
    long l = 4;
    float f = 5, f3[4] = {0, 0, 7, 0};
    double d = 6;
    int i8[8] = {0, 0, 0, 0, 0, 0, 0, 9};
    unsigned long ul = 10;
    set_args(kernel, c, u, s, l, f, d, f3, half, i8, ul, pointer);
    launch(list, kernel, 1, 1);
    finish(list);
    CHECK(out == 55);
}

TEST(group_sizes) {
    const auto kernel = make_kernel("ids");
    REFUSED(INVALID_GROUP_SIZE_DIMENSION, ze.zeKernelSetGroupSize(kernel, 0, 1, 1));
    REFUSED(INVALID_GROUP_SIZE_DIMENSION, ze.zeKernelSetGroupSize(kernel, 1u << 30, 1, 1));
    REFUSED(INVALID_GROUP_SIZE_DIMENSION, ze.zeKernelSetGroupSize(kernel, 1024, 1024, 1024));
    for (uint32_t x : {1u, 7u, 64u, 1000u, 4099u})
        for (uint32_t y : {1u, 6u, 97u})
            for (uint32_t z : {1u, 5u}) {
                uint32_t gx = 0, gy = 0, gz = 0;
                OK(ze.zeKernelSuggestGroupSize(kernel, x, y, z, &gx, &gy, &gz));
                CHECK(gx && gy && gz && x % gx == 0 && y % gy == 0 && z % gz == 0);
                OK(ze.zeKernelSetGroupSize(kernel, gx, gy, gz));
            }
    std::vector<uint64_t> out(6 * 4 * 2);
    uint64_t *pointer = out.data();
    set_arg(kernel, 0, pointer);
    OK(ze.zeKernelSetGroupSize(kernel, 3, 2, 1));
    for (uint32_t offset : {0u, 10u}) {
        OK(ze.zeKernelSetGlobalOffsetExp(kernel, offset, 0, 0));
        ze_group_count_t groups{2, 2, 2};
        append(ze.zeCommandListAppendLaunchKernel, list, kernel, &groups);
        finish(list);
        for (uint64_t i = 0; i < out.size(); i++)
            CHECK(out[i] == i % 6 + offset + 1000 * (i / 6 % 4) + 1000000 * (i / 24));
    }
    ze_group_count_t none{0, 1, 1};
    append(ze.zeCommandListAppendLaunchKernel, list, kernel, &none);
    finish(list);

    const auto fixed = make_kernel("fixed_size");
    const auto p = filled(ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES, ze.zeKernelGetProperties, fixed);
    CHECK(p.numKernelArgs == 1 && p.requiredGroupSizeX == 8 && p.requiredGroupSizeY == 2 &&
          p.requiredGroupSizeZ == 1);
    REFUSED(INVALID_GROUP_SIZE_DIMENSION, ze.zeKernelSetGroupSize(fixed, 4, 4, 1));
    OK(ze.zeKernelSetGroupSize(fixed, 8, 2, 1));
}

TEST(attributes) {
    const auto kernel = make_kernel("sub_groups");
    auto preferred = of_type<ze_kernel_preferred_group_size_properties_t>(
        ZE_STRUCTURE_TYPE_KERNEL_PREFERRED_GROUP_SIZE_PROPERTIES);
    auto p = of_type<ze_kernel_properties_t>(ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES, &preferred);
    OK(ze.zeKernelSetGroupSize(kernel, 32, 1, 1));
    OK(ze.zeKernelGetProperties(kernel, &p));
    CHECK(p.requiredSubgroupSize == 16 && p.maxSubgroupSize == 16 && preferred.preferredMultiple > 0);
    std::vector<int> out(32);
    int *pointer = out.data();
    set_arg(kernel, 0, pointer);
    launch(list, kernel, 1, 32);
    finish(list);
    for (int size : out)
        CHECK(size == 16);
    size_t size = 0;
    OK(ze.zeKernelGetName(kernel, &size, nullptr));
    std::string name(size, ' ');
    OK(ze.zeKernelGetName(kernel, &size, name.data()));
    CHECK(std::string(name.c_str()) == "sub_groups" && size == 11);
    REFUSED(INVALID_ENUMERATION, ze.zeKernelSetIndirectAccess(kernel, 8));
    OK(ze.zeKernelSetIndirectAccess(kernel, ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST));
    auto flags = got(ze.zeKernelGetIndirectAccess, kernel);
    CHECK(flags == ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST);
    OK(ze.zeKernelSetCacheConfig(kernel, ZE_CACHE_CONFIG_FLAG_LARGE_SLM));
    REFUSED(INVALID_ENUMERATION, ze.zeKernelSetCacheConfig(kernel, 4));
}
