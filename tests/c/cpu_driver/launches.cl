// SPDX-License-Identifier: Apache-2.0
// Counts groups and items.
kernel void count_shapes(global int *groups_of_shape) {
    if (get_local_linear_id() == 0)
        atomic_inc(&groups_of_shape[get_num_groups(0) * 16 + get_num_groups(1)]);
}

kernel void count_items(global int *count) {
    atomic_inc(count);
}
