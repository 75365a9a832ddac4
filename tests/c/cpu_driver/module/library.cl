// SPDX-License-Identifier: Apache-2.0
// Exports the function that importer.cl and builtins_importer.cl import.
int imported(int x) {
    return x * 3 + 1;
}
