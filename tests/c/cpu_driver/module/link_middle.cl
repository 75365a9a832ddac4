// SPDX-License-Identifier: Apache-2.0
// A library that imports from link_leaf.cl.
int leaf(int x);

int middle(int x) {
    return leaf(x) * 2;
}
