// SPDX-License-Identifier: Apache-2.0
// A library with a variable that keeps its value.
static global int sum = 100;

int leaf(int x) {
    sum += x;
    return sum;
}
