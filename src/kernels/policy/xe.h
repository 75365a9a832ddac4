// SPDX-License-Identifier: Apache-2.0
// What all policies for Intel GPUs share.
#pragma once

#include "policy/packed.h"
#include "spec.h"

#define WEI_SHIFT 0
