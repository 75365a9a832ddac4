// SPDX-License-Identifier: Apache-2.0
// A module without functions.
global int alone = 7;
constant char text[] = "text";
