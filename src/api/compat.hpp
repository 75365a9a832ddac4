// SPDX-License-Identifier: Apache-2.0
// Functions that libdnnl.so.3 (src/compat) needs from libzemm.so besides the public ones. Programs do not
// call these functions, and no public header has them.
#pragma once

#include "zemm/zemm.h"

extern "C" {

// Logs in oneDNN's name ("onednn_verbose,v1,...") from now on, and reads oneDNN's environment
// variables. libdnnl.so.3 calls it when it is loaded.
void ZEMM_API zemm_compat_speak_as_onednn(void);

// Keeps the sentence for zemm_last_error(), logs it like any refusal, and returns the status.
zemm_status_t ZEMM_API zemm_compat_refuse(zemm_status_t status, const char *sentence);

// Runs body(context) as the body of an entry point: it returns what body returns, or the status of the
// exception that leaves body, whose sentence it keeps. The thread cannot be cancelled meanwhile, and forks of
// other threads wait.
zemm_status_t ZEMM_API zemm_compat_guard(zemm_status_t (*body)(void *context), void *context);

// Whether the log has executions (profile_exec).
int ZEMM_API zemm_compat_logs_executions(void);

// Whether the primitive cache has what a primitive of pd would share: 0 or 1.
int ZEMM_API zemm_compat_is_cached(const_zemm_primitive_desc_t pd);
// The number of entries of the primitive cache.
int ZEMM_API zemm_compat_count_cached(void);
// zemm_set_primitive_cache_capacity(), but entries stay, even with capacity 0, which only turns the
// cache off. old_capacity: set to the capacity before.
zemm_status_t ZEMM_API zemm_compat_replace_cache_capacity(int capacity, int *old_capacity);
}
