// SPDX-License-Identifier: Apache-2.0
kernel void through(read_only pipe int from, write_only pipe int to, global int *failures) {
    int packet = 0;
    if (read_pipe(from, &packet) == 0)
        write_pipe(to, &packet);
    else
        atomic_inc(failures);
}

kernel void reserved(write_only pipe float4 to, global const float4 *from) {
    reserve_id_t id = work_group_reserve_write_pipe(to, get_local_size(0));
    if (is_valid_reserve_id(id)) {
        write_pipe(to, id, get_local_id(0), &from[get_global_id(0)]);
        work_group_commit_write_pipe(to, id);
    }
    if (get_pipe_num_packets(to) > get_pipe_max_packets(to))
        return;
}
