# SPDX-License-Identifier: Apache-2.0
"""The targets of fuzz.py. A target makes an input, takes it, and checks what must hold then."""

import json
import os
import random
import tempfile
from collections import Counter
from pathlib import Path
from typing import Protocol

import numpy as np
import safetensors.numpy
import zemm
from fuzz_calls import Calls
from support_tree import ROOT
from zemm._programs.usage import UsageError
from zemm._zemm import ffi, lib
from zemm.benchdnn.grammar.expand import expand

CASES = ROOT / "benchdnn_cases"
PROBLEMS = {
    "--matmul": ("2x3:3x4", "5x2x3:1x3x4", "0x3:3x4", "1x1:1x1_n"),
    "--ip": ("ic3oc4", "mb5ic3ih2oc4", "mb0_ic3id2oc1", "ic1oc1_n"),
}
KERNEL = "matmul_any_any_any_8x1x16_generic"  # the kernel that builds fastest


class Target(Protocol):
    def make(self, rng: random.Random) -> bytes: ...
    def take(self, data: bytes) -> None: ...
    def summary(self) -> str: ...


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The data with some bytes changed, removed, doubled or moved."""
    result = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at = rng.randrange(len(result) + 1)
        length = rng.choice((1, 1, 4, 8, 64))
        match rng.randrange(5):
            case 0:
                result[at : at + length] = rng.randbytes(length)
            case 1:
                del result[at : at + length]
            case 2:
                result[at:at] = result[at : at + length]
            case 3 if at < len(result):
                result[at] ^= 1 << rng.randrange(8)
            case _:
                value = rng.choice((0, 1, -1, 2, 12, 13, 1 << 31, -(1 << 63), (1 << 63) - 1))
                at -= at % 8
                result[at : at + 8] = value.to_bytes(8, "little", signed=True)
    return bytes(result)


class Blob:
    """zemm_memory_desc_create_with_blob returns a descriptor that is as good as any other, or a
    reason.
    """

    def __init__(self) -> None:
        self.outcomes = Counter[str]()
        size = ffi.new("size_t *")
        descs = [
            zemm.MemoryDesc((3, 4, 5), "s8", "abc"),
            zemm.MemoryDesc((64, 128), "u4", "BA16a64b"),
            zemm.MemoryDesc((7, 1), "f32", "any"),
            zemm.MemoryDesc((2, 3), "f16", strides=(100, 7)),
            zemm.MemoryDesc.csr((3, 4), "f32", 5, "s32", "s64"),
            zemm.MemoryDesc.packed((70, 130), "s8", 9),
        ]
        matrices = zemm.MemoryDesc((2, 70), "s8"), descs[-1], zemm.MemoryDesc((2, 130), "s32")
        descs.append(zemm.MatmulPrimitiveDesc(zemm.Engine("cpu"), *matrices).query_md("weights_md"))
        self.blobs = []
        for desc in descs:
            assert lib.zemm_memory_desc_get_blob(ffi.NULL, size, desc._handle) == 0
            blob = ffi.new("uint8_t[]", size[0])
            assert lib.zemm_memory_desc_get_blob(blob, size, desc._handle) == 0
            self.blobs.append(bytes(ffi.buffer(blob)))
        self.size = size[0]

    def make(self, rng: random.Random) -> bytes:
        blob = rng.choice(self.blobs)
        if rng.random() < 0.7:  # change one field only
            at = 8 * rng.randrange(len(blob) // 8)
            value = rng.choice(
                (0, 1, 2, 3, 5, 11, 13, 64, -1, 1 << 31, 1 << 62, -(1 << 63), rng.getrandbits(40))
            )
            return blob[:at] + value.to_bytes(8, "little", signed=True) + blob[at + 8 :]
        return damaged(blob, rng)

    def take(self, data: bytes) -> None:
        data = data[: self.size].ljust(self.size, b"\0")  # the function reads as many bytes as it writes
        made = ffi.new("zemm_memory_desc_t *")
        status = lib.zemm_memory_desc_create_with_blob(made, data)
        self.outcomes[str(status)] += 1
        if status != 0:
            assert made[0] == ffi.NULL
            assert ffi.string(lib.zemm_last_error())
            return
        again = ffi.new("uint8_t[]", self.size)
        size = ffi.new("size_t *", self.size)
        assert lib.zemm_memory_desc_get_blob(again, size, made[0]) == 0
        assert bytes(ffi.buffer(again)) == data
        for index in range(3):
            lib.zemm_memory_desc_get_size_v2(made[0], index)
        copy = ffi.new("zemm_memory_desc_t *")
        assert lib.zemm_memory_desc_clone(copy, made[0]) == 0
        assert lib.zemm_memory_desc_equal(copy[0], made[0]) == 1
        lib.zemm_memory_desc_destroy(copy[0])
        lib.zemm_memory_desc_destroy(made[0])

    def summary(self) -> str:
        return f"by status: {dict(self.outcomes)}"


class Line:
    """The driver's command line. It yields cases whose own lines mean the same case again, or a
    UsageError.
    """

    def __init__(self) -> None:
        self.outcomes = Counter[str]()
        self.tokens = [
            token
            for path in sorted(CASES.iterdir())
            for line in path.read_text().splitlines()
            for token in line.split("#")[0].split()
            if not token.startswith("--batch")
        ]

    def make(self, rng: random.Random) -> bytes:
        driver = rng.choice(tuple(PROBLEMS))
        tokens = [driver, *rng.choices(self.tokens, k=rng.randrange(1, 6))]
        spoiled = rng.randrange(len(tokens))
        match rng.randrange(4):
            case 0:
                tokens[spoiled] = damaged(tokens[spoiled].encode(), rng).decode(errors="replace")
            case 1:
                other = rng.choice(self.tokens)
                tokens[spoiled] = tokens[spoiled][: rng.randrange(20)] + other[rng.randrange(20) :]
            case 2:
                separator = rng.choice(":,+x*=-_.")
                tokens[spoiled] = tokens[spoiled].replace(
                    separator, rng.choice((separator * 2, "", "99999999999"))
                )
            case _:
                pass
        tokens.append(rng.choice(PROBLEMS[driver]))
        return " ".join(tokens).encode()

    def take(self, data: bytes) -> None:
        arguments = [t for t in data.decode(errors="replace").split() if not t.startswith("--batch")]
        try:
            jobs, _ = expand(arguments)
        except UsageError:
            self.outcomes["refused"] += 1
            return
        self.outcomes["taken"] += 1
        for job in jobs[:20]:
            line = job.case.full_repro()
            again, _ = expand(line.split())
            assert len(again) == 1, line
            assert again[0].case.full_repro() == line

    def summary(self) -> str:
        return f"{dict(self.outcomes)}"


class Cache:
    """Entries of the disk cache. Whatever an entry contains, the result of the matmul is right.

    Each input gets a process of its own, because a process reads a module only once.
    """

    def __init__(self) -> None:
        self.outcomes = Counter[str]()
        self.folder = Path(tempfile.mkdtemp(prefix="zemm-fuzz-cache-"))
        os.environ |= {"ZEMM_CACHE_DIR": str(self.folder), "ZEMM_CACHE": "1", "ZEMM_KERNEL": KERNEL}
        rng = np.random.default_rng(1)
        self.src = rng.integers(-128, 128, (3, 20), dtype=np.int8)
        self.wei = rng.integers(-128, 128, (20, 7), dtype=np.int8)
        assert self.multiply_apart() == 0
        (self.entry,) = self.folder.iterdir()
        self.good = self.entry.read_bytes()

    def multiply_apart(self) -> int:
        """The status of a forked process that multiplies. Only such processes open the runtime."""
        child = os.fork()
        if child == 0:
            status = 3
            try:
                result = zemm.matmul(self.src, self.wei, dst_dtype="s32")
                expected = self.src.astype(np.int32) @ self.wei.astype(np.int32)
                status = 0 if np.array_equal(result, expected) else 1
            finally:
                os._exit(status)
        return os.waitpid(child, 0)[1]

    def make(self, rng: random.Random) -> bytes:
        return damaged(self.good, rng) if rng.random() < 0.9 else self.good[: rng.randrange(len(self.good))]

    def take(self, data: bytes) -> None:
        self.entry.write_bytes(data)
        self.entry.chmod(0o600)
        assert self.multiply_apart() == 0
        # The library replaced the entry if it was not valid. Two builds of a module may differ in
        # bytes, so the new bytes are not compared with the original.
        self.outcomes["left" if self.entry.read_bytes() == data else "replaced"] += 1

    def summary(self) -> str:
        return f"{dict(self.outcomes)}"


class Layers:
    """Files of layers. Each gives layers that can be called, or a sentence of zemm."""

    def __init__(self) -> None:
        self.outcomes = Counter[str]()
        self.engine = zemm.Engine("cpu")
        self.path = Path(tempfile.mkdtemp(prefix="zemm-fuzz-layers-")) / "file"
        w, bias = np.ones((64, 32), np.float32), np.ones(32, np.float32)
        self.states = [
            zemm.Linear.from_float(
                w, bias, bits=bits, group=16, activation=activation, scale_dtype=scales, engine=self.engine
            ).state_dict("a.")
            for bits, activation, scales in ((4, "f32", "bf16"), (4, "int8", "f32"), (8, "bf16", "f16"))
        ]

    def make(self, rng: random.Random) -> bytes:
        state = dict(rng.choice(self.states))
        config = json.loads(state["a.config"].tobytes())
        for _ in range(rng.choice((0, 1, 1, 2))):
            part = rng.choice((config, config, config["types"], config["shapes"]))
            part[rng.choice([*part, "more"])] = rng.choice(
                (None, True, 0, -1, 64, 1 << 70, 0.5, "f32", "u4", "int8", [], [64, 32], [[]], {}, {"a": 1})
            )
            config |= {name: {} for name in ("types", "shapes") if not isinstance(config[name], dict)}
        text = json.dumps(config).encode()
        state["a.config"] = np.frombuffer(text if rng.random() < 0.8 else damaged(text, rng), np.uint8)
        name = rng.choice([*state])
        match rng.randrange(8):
            case 0:
                del state[name]
            case 1:
                state[name] = state[name][: rng.randrange(5)]
            case 2:
                state[name] = state[name].astype(rng.choice((np.float64, np.int64, np.bool_, np.float16)))
            case _:
                pass
        content = safetensors.numpy.save(state)
        return content if rng.random() < 0.8 else damaged(content, rng)

    def take(self, data: bytes) -> None:
        self.path.write_bytes(data)
        try:
            layers = zemm.load_layers(self.path, engine=self.engine)
        except (zemm.InvalidArgumentsError, zemm.UnimplementedError) as error:
            self.outcomes["refused"] += 1
            sentence = str(error)
        else:
            self.outcomes["loaded"] += 1
            for layer in layers.values():
                layer(np.ones((2, layer.in_features), np.float32))
            return
        assert str(self.path) in sentence

    def summary(self) -> str:
        return f"{dict(self.outcomes)}"


TARGETS: dict[str, type[Target]] = {
    "blob": Blob,
    "line": Line,
    "cache": Cache,
    "calls": Calls,
    "layers": Layers,
}
if "ZEMM_LLAMA_CPP" in os.environ:
    from fuzz_graphs import Graphs

    TARGETS["graphs"] = Graphs
