// SPDX-License-Identifier: Apache-2.0
// Makes one thing fail that the libraries under test ask for: the n-th allocation of theirs, or the n-th file
// that they open as a library. A program that links faults.cpp takes the place of operator new,
// posix_memalign, dlopen and dlsym in the whole process; it must export its symbols.
#pragma once

#include <cstddef>

namespace faults {

// Says that this thread is in a call of the libraries under test. Only such threads are looked at.
struct inside {
    inside();
    ~inside();
};

enum class kind { allocation, driver_call, opening };

// Of the points of a kind that threads inside pass from now on, the one with this number (from 0) fails,
// once. -1: none.
void plan(kind what, long number);
// Points passed since the plan.
long passed();
// Whether the planned point has been passed.
bool has_failed();

// Passes a point; true if it is the one that fails.
bool fails(kind what);

// Every library whose name has this part does not open, with this reason; nullptr: all open.
void refuse_opening(const char *part, const char *reason);
// How often one with that part has been asked for.
long openings();

// What threads inside have allocated and nobody has freed, and objects of the OpenCL runtime.
long live_blocks();
long live_opencl_objects();
// Writes where the live blocks come from, those since the mark only.
void mark_blocks();
void print_blocks();

} // namespace faults
