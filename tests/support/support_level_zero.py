# SPDX-License-Identifier: Apache-2.0
"""Compiles OpenCL C to SPIR-V as the build does, and calls the CPU driver directly, without zemm."""

import ctypes
import functools
import re
import runpy
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from support_tree import ROOT
from zemm._library.package_files import package_file

TABLES = ROOT / "src" / "cpu_driver" / "border" / "tables.def"
SPIRV, NATIVE = 0, 1


@functools.cache
def compilers() -> tuple[str, str] | None:
    """The pair of compilers that meson.build takes. With an installed wheel there may be none."""
    pair: tuple[str, str] | None = runpy.run_path(str(ROOT / "src/compilers.py"))["newest_pair"]()
    return pair


def compile_opencl(source: str) -> bytes:
    pair = compilers()
    assert pair, "no clang-N with an llvm-spirv-N"
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder) / "kernel"
        base.with_suffix(".cl").write_text(source)
        command = [
            pair[0],
            "--target=spirv64",
            "-cl-std=CL3.0",
            "-O2",
            "-Xclang",
            "-disable-llvm-passes",
            "-emit-llvm",
        ]
        command += ["-Xclang", "-finclude-default-header", "-c", f"{base}.cl", "-o", f"{base}.bc"]
        subprocess.run(command, check=True)
        command = [pair[1], "--spirv-max-version=1.2", "--spirv-ext=+all", f"{base}.bc", "-o", f"{base}.spv"]
        subprocess.run(command, check=True)
        return base.with_suffix(".spv").read_bytes()


class _ModuleDesc(ctypes.Structure):
    _fields_ = [
        ("stype", ctypes.c_int),
        ("next", ctypes.c_void_p),
        ("format", ctypes.c_int),
        ("size", ctypes.c_size_t),
        ("data", ctypes.c_char_p),
        ("flags", ctypes.c_char_p),
        ("constants", ctypes.c_void_p),
    ]


class _KernelDesc(ctypes.Structure):
    _fields_ = [
        ("stype", ctypes.c_int),
        ("next", ctypes.c_void_p),
        ("flags", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
    ]


class _QueueDesc(ctypes.Structure):
    _fields_ = [
        ("stype", ctypes.c_int),
        ("next", ctypes.c_void_p),
        ("ordinal", ctypes.c_uint32),
        ("index", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("mode", ctypes.c_int),
        ("priority", ctypes.c_int),
    ]


class _ContextDesc(ctypes.Structure):
    _fields_ = [("stype", ctypes.c_int), ("next", ctypes.c_void_p), ("flags", ctypes.c_uint32)]


class LevelZeroError(Exception):
    def __init__(self, call: str, result: int, log: str = "") -> None:
        super().__init__(f"{call} gave 0x{result:x}\n{log}")
        self.result, self.log = result, log


class Driver:
    """The CPU driver that is installed with zemm, called through its own tables."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(str(package_file("libze_cpu.so")))
        self._slots: dict[str, tuple[str, int]] = {}
        for table in TABLES.read_text().split("ZE_CPU_TABLE(")[2:]:
            functions = re.findall(r"ZE_CPU_(?:HAS|NEWER|LACKS)\(\d+, (\w+)\)", table)
            getter = table[: table.index(")")]
            self._slots |= {name: (getter, slot) for slot, name in enumerate(functions)}
        self.call("zeInit", 0)
        driver, device = ctypes.c_void_p(), ctypes.c_void_p()
        one = ctypes.c_uint32(1)
        self.call("zeDriverGet", ctypes.byref(one), ctypes.byref(driver))
        self.call("zeDeviceGet", driver, ctypes.byref(one), ctypes.byref(device))
        self.device, self.context, self.list = device, ctypes.c_void_p(), ctypes.c_void_p()
        self.call("zeContextCreate", driver, ctypes.byref(_ContextDesc(0xD)), ctypes.byref(self.context))
        queue = _QueueDesc(0xE, None, 0, 0, 0, 1, 0)  # synchronous
        arguments = self.context, device, ctypes.byref(queue), ctypes.byref(self.list)
        self.call("zeCommandListCreateImmediate", *arguments)

    @functools.cache  # noqa: B019
    def _function(self, name: str):  # type: ignore[no-untyped-def]
        getter, slot = self._slots[name]
        table = (ctypes.c_void_p * 128)()
        assert getattr(self._library, getter)(0x10012, table) == 0
        return ctypes.CFUNCTYPE(ctypes.c_uint32)(table[slot])

    def result_of(self, name: str, *arguments: object) -> int:
        return int(self._function(name)(*arguments))

    def call(self, name: str, *arguments: object) -> None:
        if result := self.result_of(name, *arguments):
            raise LevelZeroError(name, result)

    def module(self, code: bytes, form: int = SPIRV, flags: str = "") -> "Module":
        return Module(self, code, form, flags)


class Module:
    def __init__(self, driver: Driver, code: bytes, form: int, flags: str) -> None:
        self.driver, self.handle, log = driver, ctypes.c_void_p(), ctypes.c_void_p()
        desc = _ModuleDesc(0x1B, None, form, len(code), code, flags.encode(), None)
        arguments = (
            driver.context,
            driver.device,
            ctypes.byref(desc),
            ctypes.byref(self.handle),
            ctypes.byref(log),
        )
        result = driver.result_of("zeModuleCreate", *arguments)
        size = ctypes.c_size_t()
        driver.call("zeModuleBuildLogGetString", log, ctypes.byref(size), None)
        text = ctypes.create_string_buffer(size.value)
        driver.call("zeModuleBuildLogGetString", log, ctypes.byref(size), text)
        driver.call("zeModuleBuildLogDestroy", log)
        self.log = text.value.decode(errors="replace")
        if result:
            raise LevelZeroError("zeModuleCreate", result, self.log)

    def native(self) -> bytes:
        size = ctypes.c_size_t()
        self.driver.call("zeModuleGetNativeBinary", self.handle, ctypes.byref(size), None)
        data = (ctypes.c_uint8 * size.value)()
        self.driver.call("zeModuleGetNativeBinary", self.handle, ctypes.byref(size), data)
        return bytes(data)

    def run(self, name: str, arguments: Sequence[np.ndarray | int], groups: int = 1, size: int = 16) -> None:
        """Launch a kernel and return when it has ended. Arrays are passed by address, integers as
        int.
        """
        call, kernel = self.driver.call, ctypes.c_void_p()
        desc = _KernelDesc(0x1D, None, 0, name.encode())
        call("zeKernelCreate", self.handle, ctypes.byref(desc), ctypes.byref(kernel))
        call("zeKernelSetGroupSize", kernel, size, 1, 1)
        for i, argument in enumerate(arguments):
            value: ctypes.c_uint64 | ctypes.c_int32
            if isinstance(argument, np.ndarray):
                value = ctypes.c_uint64(argument.ctypes.data)
            else:
                value = ctypes.c_int32(argument)
            call(
                "zeKernelSetArgumentValue",
                kernel,
                i,
                ctypes.c_size_t(ctypes.sizeof(value)),
                ctypes.byref(value),
            )
        count = (ctypes.c_uint32 * 3)(groups, 1, 1)
        call("zeCommandListAppendLaunchKernel", self.driver.list, kernel, count, None, 0, None)
        call("zeKernelDestroy", kernel)
