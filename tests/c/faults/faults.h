// SPDX-License-Identifier: Apache-2.0
// Makes one request of the libraries under test fail: their n-th allocation, or the n-th file that they open
// as a library. A program that links faults.cpp replaces operator new, posix_memalign, malloc, mmap64 (these
// two fail for the driver only), dlopen and dlsym in the whole process. It must export its symbols.
#pragma once

#include <cstddef>

namespace faults {

// Marks that this thread is in a call of the libraries under test. Only such threads are affected.
struct inside {
    inside();
    ~inside();
};

enum class kind { allocation, driver_call, opening };

// From now on, threads inside pass points of this kind, numbered from 0. The point with this number
// fails once. -1: none fails.
void plan(kind what, long number);
// Points passed since plan().
long passed();
// Whether the planned point has been passed.
bool has_failed();

// Passes a point. Returns true if it is the one that fails.
bool fails(kind what);

// Libraries whose names contain this part fail to open, with this reason. If the reason is nullptr
// they open. Attempts are counted in both cases.
void refuse_opening(const char *part, const char *reason);
// How often a library with that part in its name has been requested.
long openings();

// Counts memory that threads inside have allocated and nobody has freed, and live objects of the
// OpenCL runtime.
long live_blocks();
long live_opencl_objects();

} // namespace faults
