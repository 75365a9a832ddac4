// SPDX-License-Identifier: Apache-2.0
// A module without functions and variables.
