// SPDX-License-Identifier: Apache-2.0
kernel void streamed(global const int4 *a, global int4 *b) {
    const size_t i = get_global_id(0);
    __builtin_nontemporal_store(__builtin_nontemporal_load(&a[i]) + 1, &b[i]);
}

kernel void told(global int *restrict a, global const volatile int *v, int n) {
    __builtin_assume(n > 4);
    if (__builtin_expect(a[0] > n, 0))
        __builtin_trap();
    for (int i = 0; i < n; i++)
        a[i] = v[i] + __builtin_bswap32(a[i]);
    if (a[1] == 12345)
        __builtin_unreachable();
}

struct block {
    int values[64];
};

kernel void copies(global struct block *to, global const struct block *from, int n) {
    struct block b;
    __builtin_memset(&b, 0, sizeof b);
    b.values[n & 63] = n;
    to[1] = *from;
    to[0] = b;
    __builtin_memcpy(to + 2, from + 1, sizeof b);
}
