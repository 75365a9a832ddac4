// SPDX-License-Identifier: Apache-2.0
// Xe-HPG: sub-groups of 8.
#pragma once

#include "policy/xe_int8.h"
