// SPDX-License-Identifier: Apache-2.0
// Measures how fast a device reads and copies memory that is larger than its caches.

// A work-item reads this many streams side by side, one cache line of each in turn, because the
// prefetchers of a core can follow several.
#define STREAMS 4

// Each work-item sums STREAMS * lines cache lines. sums: one vector for each work-item.
kernel void peak_read(global const int16 *data, global int16 *sums, long lines) {
    global const int16 *mine = data + get_global_id(0) * STREAMS * lines;
    int16 sum[STREAMS];
#pragma unroll
    for (int s = 0; s < STREAMS; ++s)
        sum[s] = (int16)0;
#pragma unroll 1
    for (long line = 0; line < lines; ++line) {
#pragma unroll
        for (int s = 0; s < STREAMS; ++s)
            sum[s] += mine[s * lines + line];
    }
    int16 total = (int16)0;
#pragma unroll
    for (int s = 0; s < STREAMS; ++s)
        total += sum[s];
    sums[get_global_id(0)] = total;
}

// Each work-item copies `lines` cache lines.
kernel void peak_copy(global const int16 *from, global int16 *to, long lines) {
    const long begin = get_global_id(0) * lines;
#pragma unroll 1
    for (long line = begin; line < begin + lines; ++line)
        to[line] = from[line];
}
