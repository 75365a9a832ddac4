# SPDX-License-Identifier: Apache-2.0
"""Sequences of calls of the C API that the bytes of an input spell out.

Objects are created from each other, used and destroyed in any order, with good and bad arguments.
Destroyed handles are not used again, because avoiding that is the caller's duty. Every call must
return a status that the header defines and, unless it is success, leave a sentence.
"""

import math
import os
import random
import tempfile
from collections import Counter
from collections.abc import Callable
from typing import Any

from zemm._zemm import ffi, lib

LARGEST = 1 << 20  # bytes of a memory
RUNTIME_DIM = -(1 << 63)
RUNTIME_SIZE = 1 << 63
NUMBERS = (0, 1, 2, 3, 5, 16, 33, 64, -1, 1 << 31, 1 << 40, RUNTIME_DIM, (1 << 63) - 1)
# Src, weights, dst, scratchpad, bias, attributes, outputs of a dynamic quantisation, src1 of a post-op.
ARGUMENTS = (
    1, 33, 17, 80, 41, 4096 | 1, 4096 | 33, 8192 | 1, 8192 | 33, 16384 | 1, 18, 19, 20, 16384 | 2, 0, -1
)  # fmt: skip
# Of zemm_data_type_t; the types that matmul takes come first.
TYPES = (3, 5, 6, 1, 2, 4, 7, 0, 11, 12, 17, 99)
DESTROYERS = [
    "engine",
    "stream",
    "memory_desc",
    "memory",
    "primitive_attr",
    "post_ops",
    "primitive_desc",
    "primitive",
]


class Script:
    """Choices read from bytes. Behind the end of the bytes every choice is the first."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def is_over(self) -> bool:
        return self.at >= len(self.data)

    def number(self, below: int) -> int:
        byte = self.data[self.at] if self.at < len(self.data) else 0
        self.at += 1
        return byte % below

    def one_of(self, values: Any) -> Any:
        return values[self.number(len(values))]


class Calls:
    def __init__(self) -> None:
        self.outcomes = Counter[str]()
        os.environ.setdefault("ZEMM_KERNEL", "matmul_any_any_any_8x1x16_generic")
        os.environ.setdefault("ZEMM_CACHE_DIR", tempfile.mkdtemp(prefix="zemm-fuzz-calls-"))
        names = (
            "make_engine make_stream make_desc change_desc make_attr change_attr make_post_ops make_memory "
        )
        names += (
            "make_problem make_problem make_inner_product make_dynamic_quantize make_reorder make_primitive "
        )
        names += "make_primitive execute execute wait destroy"
        self.steps: list[Callable[[], None]] = [getattr(self, name) for name in names.split()]

    def make(self, rng: random.Random) -> bytes:
        return rng.randbytes(rng.choice((40, 200, 600)))

    def take(self, data: bytes) -> None:
        self.script = Script(data)
        self.live: dict[str, list[Any]] = {kind: [] for kind in DESTROYERS}
        self.make_engine()
        self.make_stream()
        while not self.script.is_over():
            self.script.one_of(self.steps)()
        while any(self.live.values()):
            self.destroy()

    def summary(self) -> str:
        return f"calls by status: {dict(self.outcomes)}"

    # ---- one call, and what must hold after it

    def call(self, name: str, *arguments: Any) -> bool:
        status = getattr(lib, f"zemm_{name}")(*arguments)
        self.outcomes[str(status)] += 1
        assert 0 <= status <= 8, (name, status)
        if status != 0:
            assert ffi.string(lib.zemm_last_error()), name
        return status == 0

    def create(self, kind: str, name: str, *arguments: Any) -> None:
        made = ffi.new(f"zemm_{kind}_t *")
        if self.call(name, made, *arguments):
            assert made[0] != ffi.NULL
            self.live[kind].append(made[0])
        else:
            assert made[0] == ffi.NULL, name

    def created(self, kind: str, name: str, *arguments: Any) -> Any:
        """The new object, or NULL."""
        count = len(self.live[kind])
        self.create(kind, name, *arguments)
        return self.live[kind][-1] if len(self.live[kind]) > count else ffi.NULL

    def some(self, kind: str) -> Any:
        """A live object of the kind, or NULL if there is none."""
        handles = self.live[kind]
        return self.script.one_of(handles) if handles and self.script.number(16) else ffi.NULL

    def dims(self, count: int) -> Any:
        return ffi.new("int64_t[12]", [self.script.one_of(NUMBERS) for _ in range(min(count, 12))])

    # ---- steps

    def make_engine(self) -> None:
        if len(self.live["engine"]) < 3:
            self.create(
                "engine", "engine_create", self.script.one_of((1, 1, 1, 2, 0)), self.script.number(8) == 7
            )

    def make_stream(self) -> None:
        self.create(
            "stream", "stream_create", self.some("engine"), self.script.one_of((1, 1, 2, 4, 5, 0, 64))
        )

    def make_desc(self) -> None:
        ndims = self.script.one_of((2, 2, 2, 3, 1, 0, 12, 13, -1))
        dims, dtype = self.dims(ndims), self.script.one_of(TYPES)
        match self.script.number(4):
            case 0:
                strides = self.dims(ndims) if self.script.number(4) else ffi.NULL
                self.create("memory_desc", "memory_desc_create_with_strides", ndims, dims, dtype, strides)
            case 1:
                tag = self.script.one_of((b"ab", b"ba", b"any", b"BA16a64b", b"acb", b"", b"aBc16b", b"zz"))
                self.create("memory_desc", "memory_desc_create_with_string_tag", ndims, dims, dtype, tag)
            case 2:
                self.create("memory_desc", "memory_desc_create_host_scalar", dtype)
            case _:
                tag = self.script.number(60)
                self.create("memory_desc", "memory_desc_create_with_tag", ndims, dims, dtype, tag)

    def change_desc(self) -> None:
        desc, name = self.some("memory_desc"), "memory_desc"
        match self.script.number(4):
            case 0:
                self.create(name, "memory_desc_create_submemory", desc, self.dims(12), self.dims(12))
            case 1:
                ndims = self.script.one_of((1, 2, 3, 13, 0))
                self.create(name, "memory_desc_reshape", desc, ndims, self.dims(ndims))
            case 2:
                axes = ffi.new("int[12]", [self.script.one_of((1, 0, 2, -1, 12)) for _ in range(12)])
                self.create(name, "memory_desc_permute_axes", desc, axes)
            case _:
                self.create(name, "memory_desc_clone", desc)
                lib.zemm_memory_desc_get_size(desc)

    def make_attr(self) -> None:
        self.create("primitive_attr", "primitive_attr_create")

    def change_attr(self) -> None:
        attr, argument = self.some("primitive_attr"), self.script.one_of(ARGUMENTS)
        mask, dtype = self.script.one_of((0, 1, 2, 3, 4, 8, -1)), self.script.one_of(TYPES)
        ndims = self.script.one_of((0, 2, 2, 3, -1))
        groups = self.dims(2) if self.script.number(3) else ffi.new("int64_t[12]", [16, 1])
        match self.script.number(11):
            case 0 | 1 | 2 | 6 | 8 | 9 as kind:
                of_kind = {0: "scales", 1: "zero_points", 2: "precomputed_reductions", 6: "offsets"}
                of_kind |= {8: "scale_factors", 9: "offset_factors"}
                name = f"primitive_attr_set_{of_kind[kind]}"
                self.call(name, attr, argument, mask, ndims, groups, dtype)
            case 3:
                self.call("primitive_attr_set_scratchpad_mode", attr, self.script.number(3))
            case 4:
                numbers = self.script.number(7), self.script.number(3)
                self.call("primitive_attr_set_fpmath_mode_v2", attr, *numbers)
            case 5:
                self.call("primitive_attr_set_post_ops", attr, self.some("post_ops"))
            case 7:
                size = self.script.one_of((32, 1, 7, 0, -1, 2**40, 2**63 - 1))
                self.call("primitive_attr_set_src_dyn_quant_params", attr, size)
            case _:
                self.create("primitive_attr", "primitive_attr_clone", attr)

    def make_post_ops(self) -> None:
        if not self.live["post_ops"] or self.script.number(4) == 0:
            self.create("post_ops", "post_ops_create")
        post_ops = self.some("post_ops")
        match self.script.number(3):
            case 0:
                alg = self.script.one_of((0x20, 0x21, 0x24, 0x2F, 0x30, 0, 0x3F, 0x40))
                numbers = [self.script.one_of((0.0, 1.0, -1.0, math.inf, math.nan)) for _ in range(2)]
                self.call("post_ops_append_eltwise", post_ops, alg, *numbers)
            case 1:
                more = self.script.number(2), self.script.one_of(TYPES)
                self.call("post_ops_append_sum", post_ops, 1.0, *more)
            case _:
                alg = 0x1FFF0 + self.script.number(14)
                self.call("post_ops_append_binary", post_ops, alg, self.some("memory_desc"))

    def make_memory(self) -> None:
        desc = self.some("memory_desc")
        if desc == ffi.NULL or lib.zemm_memory_desc_get_size(desc) <= LARGEST:
            handle = ffi.cast("void *", -1 if self.script.number(4) else 0)  # -1: the library allocates
            self.create("memory", "memory_create", desc, self.some("engine"), handle)

    def make_problem(self) -> None:
        """Create a matmul whose descriptors fit each other most of the time."""
        m, n, k = (self.script.one_of((1, 2, 3, 17, 64, 0, RUNTIME_DIM)) for _ in range(3))
        tensors = self.tensors(((m, k), (k, n), (m, n)))
        bias = self.some("memory_desc") if self.script.number(5) == 0 else ffi.NULL
        self.create_product("matmul_primitive_desc_create", (), *tensors, bias)

    def make_inner_product(self) -> None:
        """Like make_problem(), of src with a spatial dimension or without."""
        rows, out, channels = (self.script.one_of((1, 2, 3, 17, 64, 0)) for _ in range(3))
        space = self.script.one_of(((), (), (1,), (3,)))
        tensors = self.tensors(((rows, channels, *space), (out, channels, *space), (rows, out)))
        bias = self.tensor((out,), 3) if self.script.number(3) == 0 else ffi.NULL
        prop_kind = self.script.one_of((lib.zemm_forward_inference, lib.zemm_forward_training, 0, 128, 99))
        self.create_product("inner_product_forward_primitive_desc_create", (prop_kind,), *tensors, bias)

    def create_product(
        self, name: str, more: tuple[int, ...], src: Any, wei: Any, dst: Any, bias: Any
    ) -> None:
        attr = self.some("primitive_attr") if self.script.number(2) else ffi.NULL
        self.create("primitive_desc", name, self.some("engine"), *more, src, wei, bias, dst, attr)

    def tensors(self, shapes: tuple[tuple[int, ...], ...]) -> list[Any]:
        types = ((3, 3, 3), (5, 5, 4), (6, 5, 3), (5, 6, 1), (3, 6, 3), (1, 1, 1), (2, 2, 3), (5, 17, 3))
        return [self.tensor(*of) for of in zip(shapes, self.script.one_of(types), strict=True)]

    def tensor(self, shape: tuple[int, ...], dtype: int) -> Any:
        """A new descriptor, or any other one now and then."""
        tag = self.script.one_of(("", "", "turned", "any"))
        plain = "abc"[: len(shape)]
        name = {"": plain, "turned": plain[::-1]}.get(tag, tag).encode()
        dims = ffi.new("int64_t[12]", shape)
        self.create("memory_desc", "memory_desc_create_with_string_tag", len(shape), dims, dtype, name)
        fits = self.live["memory_desc"] and self.script.number(12)
        return self.live["memory_desc"][-1] if fits else self.some("memory_desc")

    def make_dynamic_quantize(self) -> None:
        rows, k = self.script.one_of((1, 2, 3, 17, 0)), self.script.one_of((64, 32, 3, 1, 0))
        groups = self.script.one_of((1, 1, 2, k))
        symmetric = lib.zemm_dynamic_quantize_symmetric
        alg = self.script.one_of((symmetric, lib.zemm_dynamic_quantize_asymmetric, 0, 0x20, 99))
        src = self.tensor((rows, k), self.script.one_of((3, 2, 1, 5)))
        dst = self.tensor((rows, k), 5 if alg == symmetric else 6)
        scale = self.tensor(self.script.one_of(((rows, groups), (1, 1))), 3)
        points = ffi.NULL if alg == symmetric else self.tensor((rows, groups), 4)
        sums = self.tensor((rows, groups), 4) if self.script.number(3) == 0 else ffi.NULL
        attr = self.some("primitive_attr") if self.script.number(3) == 0 else ffi.NULL
        name = "dynamic_quantize_primitive_desc_create"
        self.create("primitive_desc", name, self.some("engine"), alg, src, dst, scale, points, sums, attr)

    def make_reorder(self) -> None:
        given = [self.some(kind) for kind in ("memory_desc", "engine") * 2 + ("primitive_attr",)]
        self.create("primitive_desc", "reorder_primitive_desc_create", *given)

    def make_primitive(self) -> None:
        self.create("primitive", "primitive_create", self.some("primitive_desc"))

    def execute(self) -> None:
        """Execute with the memories that the primitive wants, or with arbitrary ones."""
        primitive, stream = self.some("primitive"), self.some("stream")
        arguments = []
        for argument in ARGUMENTS[: self.script.one_of((3, 3, 4, len(ARGUMENTS)))]:
            memory = self.fitting(primitive, argument) if self.script.number(8) else self.some("memory")
            if memory != ffi.NULL or self.script.number(8) == 7:
                arguments.append({"arg": argument, "memory": memory})
        given = ffi.new("zemm_exec_arg_t[]", arguments)
        self.call("primitive_execute", primitive, stream, len(arguments), given)

    def fitting(self, primitive: Any, argument: int) -> Any:
        desc = ffi.new("const_zemm_primitive_desc_t *")
        engines = self.live["engine"]
        if (
            primitive == ffi.NULL
            or not engines
            or lib.zemm_primitive_get_primitive_desc(primitive, desc) != 0
        ):
            return ffi.NULL
        wanted = lib.zemm_primitive_desc_query_md(desc[0], 255, argument)  # 255 is zemm_query_exec_arg_md
        if wanted != ffi.NULL and lib.zemm_memory_desc_get_size(wanted) == RUNTIME_SIZE:
            wanted = self.filled(wanted)
        if wanted == ffi.NULL or lib.zemm_memory_desc_get_size(wanted) > LARGEST:
            return ffi.NULL
        engine = self.script.one_of(engines)
        return self.created("memory", "memory_create", wanted, engine, ffi.cast("void *", -1))

    def filled(self, wanted: Any) -> Any:
        """A plain descriptor without the runtime dimensions of `wanted`. Most get one value, so that the
        tensors of an execution fit one another.
        """
        ndims, dims, dtype = ffi.new("int *"), ffi.new("int64_t **"), ffi.new("zemm_data_type_t *")
        for what, answer in (
            (lib.zemm_query_ndims_s32, ndims),
            (lib.zemm_query_dims, dims),
            (lib.zemm_query_data_type, dtype),
        ):
            assert lib.zemm_memory_desc_query(wanted, what, answer) == 0
        known = [
            self.script.one_of((4,) * 20 + NUMBERS) if dims[0][d] == RUNTIME_DIM else dims[0][d]
            for d in range(ndims[0])
        ]
        tag = self.script.one_of((b"ab", b"ab", b"ab", b"ba"))
        name, dims = "memory_desc_create_with_string_tag", ffi.new("int64_t[12]", known)
        return self.created("memory_desc", name, ndims[0], dims, dtype[0], tag)

    def wait(self) -> None:
        self.call("stream_wait", self.some("stream"))

    def destroy(self) -> None:
        kind = self.script.one_of([kind for kind, handles in self.live.items() if handles] or DESTROYERS)
        handles = self.live[kind]
        handle = handles.pop(self.script.number(len(handles))) if handles else ffi.NULL
        assert self.call(f"{kind}_destroy", handle)
