// SPDX-License-Identifier: Apache-2.0
//
// Annotations for the thread sanitizer. The OpenCL runtime hands work to its threads and results
// back, but is not built with the sanitizer, which would report these hand-overs as races. In other
// builds the functions do nothing.
#pragma once

#if defined(__SANITIZE_THREAD__)
extern "C" void __tsan_acquire(void *);
extern "C" void __tsan_release(void *);
#endif

namespace ze_cpu {

#if defined(__SANITIZE_THREAD__)
inline char handover_place;
inline void hand_over() {
    __tsan_release(&handover_place);
}
inline void take_over() {
    __tsan_acquire(&handover_place);
}
#else
inline void hand_over() {}
inline void take_over() {}
#endif

} // namespace ze_cpu
