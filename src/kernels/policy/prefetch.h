// SPDX-License-Identifier: Apache-2.0
// Asks for the cache line at an address, to the first cache level, where the device's compiler is LLVM for
// CPUs.
#pragma once

#if LANES > 1
void llvm_prefetch(global const uchar *address, int write, int locality, int data) __asm("llvm.prefetch.p1");
#define prefetch_line(address) llvm_prefetch(address, 0, 3, 1)
#else
#define prefetch_line(address) ((void)(address))
#endif
