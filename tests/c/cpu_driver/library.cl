// SPDX-License-Identifier: Apache-2.0
int imported(int x) {
    return x * 3 + 1;
}
