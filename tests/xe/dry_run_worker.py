# SPDX-License-Identifier: Apache-2.0
"""Runs small primitives on the GPU of a driver in dry-run mode: python dry_run_worker.py TASK.
Prints JSON.

Each device needs a process of its own, because the driver reads its dry-run settings when it is
loaded.
"""

import ctypes
import itertools
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import zemm
from support_calls import make_pd
from support_cases import PROBLEMS, Problem, shape
from zemm import ARG, ARG_BIAS, ARG_DST, ARG_SRC, ARG_WEIGHTS
from zemm._doctor import child
from zemm.benchdnn.grammar import arguments as args

M, K, N, GROUP = 9, 64, 48, 32
SAMPLE = 8  # problems that are run on a row, or a few more
FLOATS = ("f32", "f16", "bf16")
INTEGERS = ("u8", "s8", "u4", "s4", "u2")


def reorders(engine: zemm.Engine) -> Iterator[zemm.ReorderPrimitiveDesc]:
    """Conversions, packing and dynamic quantisation. Each type occurs at least once."""
    types = (*FLOATS, "s32", *INTEGERS)
    for src, dst in zip(types, (*types[3:], *types[:3]), strict=True):
        attr = zemm.Attr()
        attr.set_scales(ARG_SRC, 3, (1, 16), "f16")
        if src not in FLOATS:
            attr.set_zero_points(ARG_SRC, 1, (), "s32")
        ops = zemm.PostOps()
        ops.append_sum(0.5)
        attr.set_post_ops(ops)
        yield zemm.ReorderPrimitiveDesc(
            engine, zemm.MemoryDesc((K, N), src, "ba"), zemm.MemoryDesc((K, N), dst, "Ab16a"), attr
        )
    for data_type, tag in itertools.product(("f32", "bf16", "s8", "u4", "u2"), ("ab", "ba")):
        packed = {"u2": "BA16a16b4a4b"}.get(data_type, "BA16a64b" if data_type in FLOATS else "BA16a64b4a")
        yield zemm.ReorderPrimitiveDesc(
            engine, zemm.MemoryDesc((K, N), data_type, tag), zemm.MemoryDesc((K, N), data_type, packed)
        )
    for src, dst in itertools.product(FLOATS, ("s8", "u8")):
        attr = zemm.Attr()
        attr.set_scales(ARG_DST, 3, (1, GROUP), src, quantization_mode="dynamic_fp")
        attr.set_precomputed_reductions(ARG_DST, 3, (1, GROUP))
        if dst == "u8":
            attr.set_zero_points(ARG_DST, 3)
        yield zemm.ReorderPrimitiveDesc(
            engine, zemm.MemoryDesc((M, K), src), zemm.MemoryDesc((M, K), dst), attr
        )
    for src, dst in itertools.product((*FLOATS, "f8_e4m3"), ("f8_e4m3", "f8_e5m2", "f4_e2m1")):
        attr = zemm.Attr()
        attr.set_scales(ARG_DST, 3, (1, 32), "e8m0", quantization_mode="dynamic_mx")
        yield zemm.ReorderPrimitiveDesc(
            engine, zemm.MemoryDesc((M, K), src, "ba"), zemm.MemoryDesc((M, K), dst), attr
        )
    # Sparse tensors that store nothing. In a scratchpad of zeros the number of values seems to be counted.
    attr = zemm.Attr()
    attr.set_scratchpad_mode("user")
    csr, coo = zemm.MemoryDesc.csr((M, K), "f32", 0), zemm.MemoryDesc.coo((M, K), "f16", 0, "s64")
    mds = (
        zemm.MemoryDesc((M, K), "s8"),
        zemm.MemoryDesc.packed((K, N), "s8", 0),
        zemm.MemoryDesc((M, N), "s32"),
    )
    packed = zemm.MatmulPrimitiveDesc(engine, *mds).query_md("weights_md")
    dense = zemm.MemoryDesc((K, N), "s8")
    for src, dst in (
        (csr, coo),
        (coo, zemm.MemoryDesc((M, K), "f16", "ba")),
        (dense, packed),
        (packed, dense),
    ):
        yield zemm.ReorderPrimitiveDesc(engine, src, dst, attr)
    for src, dst in (("f64", "f8_e4m3"), ("bf16", "f64"), ("f64", "s32")):
        try:
            yield zemm.ReorderPrimitiveDesc(
                engine, zemm.MemoryDesc((M, K), src), zemm.MemoryDesc((M, K), dst)
            )
        except zemm.UnimplementedError as refusal:
            if "has no arithmetic in f64" not in str(refusal):
                raise


def run_reorders(engine: zemm.Engine) -> dict[str, Any]:
    """Run each reorder with each kernel that takes it."""
    stream = zemm.Stream(engine)
    kernels = []
    for pd in reorders(engine):
        more = True
        while more:
            kernels.append(pd.impl_info)
            zemm.Primitive(pd).execute(stream, memories(engine, pd))
            stream.wait()
            more = pd.next_impl()
    return {"kernels": kernels}


def memories(
    engine: zemm.Engine, pd: zemm.MatmulPrimitiveDesc | zemm.ReorderPrimitiveDesc
) -> dict[int, zemm.Memory]:
    """A memory, filled with zeros, of every argument that the descriptor asks for."""
    # An attribute that belongs to a tensor is one bit, to be joined with the number of the tensor.
    flags = [number for name, number in ARG.items() if name.startswith("ATTR_") and number.bit_count() == 1]
    numbers = [ARG_SRC, ARG_WEIGHTS, ARG_BIAS, ARG_DST, zemm.ARG_SCRATCHPAD]
    numbers += [flag | arg for flag in flags for arg in (ARG_SRC, ARG_WEIGHTS, ARG_DST)]
    for i in range(32):
        numbers += [
            zemm.ARG_ATTR_MULTIPLE_POST_OP(i) | ARG["SRC_1"],
            zemm.ARG_ATTR_MULTIPLE_POST_OP(i) | ARG["SRC_2"],
            zemm.ARG_ATTR_MULTIPLE_POST_OP(i) | ARG_WEIGHTS,
        ]
    # Zero points that are common to a tensor have no descriptor. Primitives without them ignore these.
    found = {ARG["ATTR_ZERO_POINTS"] | ARG_SRC: zemm.Memory(zemm.MemoryDesc((1,), "s32"), engine)}
    for number in numbers:
        md = pd.query_md("exec_arg_md", number)
        if md.ndims:
            found[number] = zemm.Memory(md, engine)
            for index in range(md.num_handles):
                found[number].write(np.zeros(md.part_size(index), np.uint8), index)
    return found


def run_memory(engine: zemm.Engine) -> dict[str, Any]:
    """Data written to a memory is read back by map and unmap, for sizes around a page."""
    wrong = []
    for size in (1, 63, 4096, 4097, 1 << 20):
        memory = zemm.Memory(zemm.MemoryDesc((size,), "u8"), engine)
        for seed in range(2):
            data = np.random.default_rng(seed).integers(0, 256, size, np.uint8)
            memory.write(data)
            if not np.array_equal(memory.read(), data):
                wrong.append(size)
    refused = []
    try:
        zemm.Memory(zemm.MemoryDesc((4,), "u8"), engine, np.zeros(4, np.uint8))
    except ValueError as error:
        refused.append(str(error))
    return {"wrong": wrong, "refused": refused}


def run_rows(engine: zemm.Engine) -> dict[str, Any]:
    """Run rows by name, one after another. Print a line of JSON after the lines that the log has
    for a row.
    """
    for row in sys.argv[2:]:
        answer = run_row(engine, row)
        ctypes.CDLL(None).fflush(None)  # the library's lines must come before this process's own
        print(json.dumps({"row": row} | answer), flush=True)
    return {"rows": len(sys.argv) - 2}


def common_parameters(engine: zemm.Engine, problem: Problem) -> dict[int, zemm.Memory]:
    """A memory of every scale, zero point and offset with mask 0: these have no descriptor."""
    found = {}
    for argument in args.quantizations(problem.case):
        if argument.on_host:
            md = zemm.MemoryDesc.host_scalar(argument.data_type)
            found[argument.arg] = zemm.Memory.host_scalar(md, 1)
        elif argument.count == 1:
            found[argument.arg] = zemm.Memory(zemm.MemoryDesc((1,), argument.data_type), engine)
    return found


def run_row(engine: zemm.Engine, row: str) -> dict[str, Any]:
    """Create, build and launch a sample of the problems that the row takes."""
    os.environ["ZEMM_KERNEL"] = row
    descriptors, reasons = {}, set()
    for name, problem in PROBLEMS.items():
        try:
            descriptors[name] = make_pd(problem, engine)
        except NotImplementedError as error:
            reasons.add(str(error).split(f"{row}: ")[-1].split(";")[0])
    names = list(descriptors)
    sample = names[:: max(1, len(names) // SAMPLE)]
    stream = zemm.Stream(engine)
    for name in sample:
        print(name, flush=True)  # marks which problem the next lines of the log are about
        pd = descriptors[name]
        primitive = zemm.Primitive(pd)
        assert primitive.impl_info == row
        found = memories(engine, pd) | common_parameters(engine, PROBLEMS[name])
        found |= {
            tensor.arg: found[ARG_DST]
            for tensor in args.post_op_tensors(PROBLEMS[name].case)
            if tensor.is_dst
        }
        primitive.execute(stream, found)
        stream.wait()
    return {"sample": sample, "reasons": sorted(reasons)}


def run_model(engine: zemm.Engine) -> dict[str, Any]:
    """Report what the library and the doctor say about the device, and run a matmul on it."""
    pd = make_pd(Problem(f"--dt=s8:u8:f32 {shape(M, N, K)}"), engine)
    stream = zemm.Stream(engine)
    zemm.Primitive(pd).execute(stream, memories(engine, pd))
    stream.wait()
    return {
        "model": engine.model,
        "features": engine.features,
        "doctor": child.describe(engine),
        "kernel": pd.impl_info,
    }


TASKS = {
    "memory": run_memory,
    "model": run_model,
    "reorders": run_reorders,
    "rows": run_rows,
}


def main() -> None:
    engine = zemm.Engine("gpu")
    print(json.dumps({"device": engine.name, **TASKS[sys.argv[1]](engine)}))


if __name__ == "__main__":
    main()
