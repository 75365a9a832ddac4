// SPDX-License-Identifier: Apache-2.0
// A library that needs another one.
int leaf(int x);

int middle(int x) {
    return leaf(x) * 2;
}
