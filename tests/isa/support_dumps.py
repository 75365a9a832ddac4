# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E501
"""Assembly and binaries in the form of Intel's compiler dumps: short kernels of our own, put
together for tests.
"""

import struct

# The older compiler (IGC 1.0.12504) names no pipes. An iteration has two steps of K; then each sum
# is scaled.
OLDER = """\
//.kernel matmul
//.platform PVCXT
//.thread_config numGRF=256, numAcc=8, numSWSB=32
//.instCount 20

// B000: Preds:{},  Succs:{B001}
// _main:
(W)     mov (16|M0)              r1.0<1>:ud    r0.0<1;1,0>:ud                   {Compacted}          // $1
// B001: Preds:{B003, B000},  Succs:{B002}
_0_001:
        mov (16|M0)              r10.0<1>:d    0:w                               {Compacted}         // $2
        mov (16|M0)              r20.0<1>:d    0:w                               {Compacted}         // $3
// B002: [inDivergent],  Preds:{B002, B001},  Succs:{B003, B002}
_0_002:
(W)     mov (1|M0)               r3.5<1>:ud    r4.13<0;1,0>:d                   {I@5}                // $4
        load_block2d.ugm.d8v.a64 (16|M0)  r40:8  [r3:1]            {A@5,$3} // ex_desc:0x0; desc:0x2800083 // $5
        load_block2d.ugm.d8.a64 (16|M0)  r60:16 [r5:1]             {$4} // ex_desc:0x0; desc:0x3000003 // $6
        load_block2d.ugm.d8.a64 (16|M0)  null:0 [r6:1]             {$5} // ex_desc:0x0; desc:0x3000003 // $6
        sync.allwr                           ($2,$4)                       {Compacted}               // $7
        dpas.8x8 (16|M0)         r10:d         r10:d             r40:ub            r60.0:b          {Atomic,$3.dst} // $8
        dpas.8x8 (16|M0)         r20:d         r20:d             r40:ub            r64.0:b          {Atomic} // $9
        dpas.8x8 (16|M0)         r10:d         r10:d             r44:ub            r68.0:b          {Atomic} // $8
        dpas.8x8 (16|M0)         r20:d         r20:d             r44:ub            r72.0:b          {$2} // $9
(W)     cmp (16|M0)   (lt)f0.1   null<1>:d     r54.13<0;1,0>:d   r2.0<0;1,0>:d    {I@1}              // $10
(W&f0.1) jmpi                                _0_002                                                  // $11
// B003: Preds:{B002},  Succs:{B004, B001}
        mov (16|M0)              r80.0<1>:f    r10.0<1;1,0>:d                   {$2.dst}             // $12
        mov (16|M0)              r81.0<1>:f    r20.0<1;1,0>:d                                        // $13
        mad (16|M0)              r90.0<1>:f    r90.0<1;0>:f      r80.0<1;0>:f      r7.0<0>:f        {F@2} // $14
        mad (16|M0)              r91.0<1>:f    r91.0<1;0>:f      r81.0<1;0>:f      r7.0<0>:f        // $15
        load.ugm.d16u32.a64.ca.ca (16|M0)  r95:1 [r96:2]           {$6} // ex_desc:0x0; desc:0x4183980 // $16
(W&~f0.0) jmpi                               _0_001                                                  // $17
// B004: Preds:{B003},  Succs:{}
(W)     send.gtwy (8|M0)         null     r255    null:0  0x0            0x02000010           {EOT,F@1} // wr:1+0, rd:0; end of thread // $18
"""

# IGC 2.40 names the pipes in comments. This kernel has predication and a spill.
NEWER = """\
//.kernel matmul
//.platform XE2
//.thread_config numGRF=128, numAcc=4, numSWSB=16
//.spill size 64

// B000: Preds:{},  Succs:{B001}
cross_thread_prolog:
(W)     and (1|M0)               r127.0<1>:ud  r0.0<0;1,0>:ud    0xFFFFFFC0:ud                       //  ALU pipe: int;
L512:
// B001: Preds:{B000, B001},  Succs:{B001, B002}
        bfn.(s0&s1|s2) (16|M0)   r20.0<1>:ud   r53.0<1;0>:ud     r13.0<0;0>:ud     r44.0<0>:ud       //  ALU pipe: int; $1
        mov (32|M0)              r5.0<1>:w     r19.0<1;1,0>:ub                  {$6.dst}             //  ALU pipe: int; $2
        mul (32|M0)              acc0.0<1>:hf  r5.0<1;1,0>:hf    0x7800:hf              {I@1}        //  ALU pipe: float; $3
        math.inv (16|M0)         r7.0<1>:f     r8.0<1;1,0>:f                                         //  ALU pipe: math; $4
(W)     store.ugm.d32x32t.a32 (1|M0)  ss[a0.2][r155:1-0x100] r1:2  {I@5,$3} // ex_desc:a0.2; desc:0x4200F504 //  spill to offset[7*64] of ?; ; $5
(W)     load.ugm.d32x64t.a32 (1|M0)  r3:4       ss[a0.2][r155:1-0xFE4]  {$4} // ex_desc:a0.2; desc:0x4240F500 //  fill from offset[7*64] of ?; ; $6
        dpas.8x4 (16|M0)         r10:f         r10:f             r40:hf            r60.0:hf         {$3} // $7
(~f0.0) goto (16|M0)                         _0_054            _0_054                                //  ALU pipe: int; $8
// B002: Preds:{B001},  Succs:{}
"""


def elf(contents: dict[str, bytes]) -> bytes:
    """A 64-bit ELF file with these sections and a section of their names."""
    names, data, headers = b"\0", b"", b""
    contents = {**contents, ".strtab": b""}
    for name, content in contents.items():
        at = len(names)
        names += name.encode() + b"\0"
        content = names if name == ".strtab" else content
        headers += struct.pack("<I20xQQ24x", at, 64 + len(data), len(content))
        data += content
    start = struct.pack("<5s35xQ10xHHH", b"\x7fELF\x02", 64 + len(data), 64, len(contents), len(contents) - 1)
    return start + data + headers
