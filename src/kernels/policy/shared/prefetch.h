// SPDX-License-Identifier: Apache-2.0
// prefetch_line(address) prefetches a cache line into the L1 cache, prefetch_line_l2(address) into the L2
// cache. They do nothing in the kernel for any device (LANES 1), whose compiler may not know the intrinsic
// of LLVM.
#pragma once

#if LANES > 1
void llvm_prefetch(global const uchar *address, int write, int locality, int data) __asm("llvm.prefetch.p1");
#define prefetch_line(address) llvm_prefetch(address, 0, 3, 1)
#define prefetch_line_l2(address) llvm_prefetch(address, 0, 2, 1)
#define prefetch_line_to_write(address) llvm_prefetch(address, 1, 3, 1)
#else
#define prefetch_line(address) ((void)(address))
#define prefetch_line_l2(address) ((void)(address))
#endif
