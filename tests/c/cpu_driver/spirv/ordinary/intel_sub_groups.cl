// SPDX-License-Identifier: Apache-2.0
uint __attribute__((overloadable)) intel_sub_group_shuffle(uint, uint);
uint __attribute__((overloadable)) intel_sub_group_block_read(const global uint *);

__attribute__((intel_reqd_sub_group_size(8))) kernel void shuffle_lanes(global uint *a) {
    const uint v = intel_sub_group_block_read(a + get_sub_group_id() * 8);
    a[get_global_id(0)] = intel_sub_group_shuffle(v, get_sub_group_local_id() ^ 1);
}
