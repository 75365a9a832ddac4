// SPDX-License-Identifier: Apache-2.0
kernel void cases(global int *a) {
    const size_t i = get_global_id(0);
    switch (a[i]) {
    case 0:
        a[i] = 17;
        break;
    case 5:
        a[i] += 3;
    case -7:
        a[i] *= 2;
        break;
    default:
        a[i] = 1000 - a[i];
    }
}

kernel void wide_cases(global long *a) {
    const size_t i = get_global_id(0);
    switch (a[i]) {
    case 0x100000000l:
        a[i] = 1;
        break;
    case 0x7fffffffffffffffl:
        a[i] = 2;
        break;
    }
}

kernel void unrolled(global const float *a, global float *b, int n) {
    float sum = 0;
#pragma unroll 4
    for (int i = 0; i < n; i++)
        sum += a[i];
#pragma unroll
    for (int i = 0; i < 8; i++)
        sum *= a[i];
#pragma nounroll
    for (int i = 0; i < n; i++)
        sum -= a[i];
    __attribute__((opencl_unroll_hint(2))) for (int i = n; i > 0; i--) sum += a[i];
    *b = sum;
}

kernel void nested(global int *a, int n) {
    int count = 0;
    for (int i = 0; i < n; i++) {
        for (int j = i;; j++) {
            if (a[j] == 0)
                break;
            if (a[j] & 1)
                continue;
            if (a[j] > 1000)
                goto out;
            count++;
        }
        do {
            count ^= a[i]--;
        } while (a[i] > 3);
    }
out:
    a[0] = count;
}

kernel void early(global int *a, int n) {
    const int i = get_global_id(0);
    if (i >= n)
        return;
    a[i] = i < 3 && a[i] > 2 || a[i] == 7 ? a[i] : -a[i];
}
