# SPDX-License-Identifier: Apache-2.0
"""Builds a SPIR-V module with libze_cpu.so and writes its native binary:
`python -m zemm.isa.cpu.native MODULE.spv BINARY OPTIONS`.

A process of its own, because the OpenCL runtime reads the target CPU from its environment once, and
ends the process when it cannot generate code.
"""

import ctypes
import sys
from pathlib import Path
from typing import Any

import zemm
from zemm._doctor.child import loaded_library

_VERSION = 0x10004  # of Level Zero: 1.4
# Where ze_ddi.h has a function: the getter of its table, and its place there.
_PLACES = {
    "zeInit": ("zeGetGlobalProcAddrTable", 0),
    "zeDriverGet": ("zeGetDriverProcAddrTable", 0),
    "zeDeviceGet": ("zeGetDeviceProcAddrTable", 0),
    "zeContextCreate": ("zeGetContextProcAddrTable", 0),
    "zeModuleCreate": ("zeGetModuleProcAddrTable", 0),
    "zeModuleGetNativeBinary": ("zeGetModuleProcAddrTable", 3),
    "zeModuleBuildLogGetString": ("zeGetModuleBuildLogProcAddrTable", 1),
}


class _ContextDesc(ctypes.Structure):
    _fields_ = (("stype", ctypes.c_int), ("next", ctypes.c_void_p), ("flags", ctypes.c_uint32))


class _ModuleDesc(ctypes.Structure):
    _fields_ = (
        ("stype", ctypes.c_int),
        ("next", ctypes.c_void_p),
        ("format", ctypes.c_int),  # 0: SPIR-V
        ("size", ctypes.c_size_t),
        ("data", ctypes.c_char_p),
        ("flags", ctypes.c_char_p),
        ("constants", ctypes.c_void_p),
    )


class _Driver:
    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)
        self.call("zeInit", 0)
        driver, one = ctypes.c_void_p(), ctypes.c_uint32(1)
        self._device, self._context = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("zeDriverGet", ctypes.byref(one), ctypes.byref(driver))
        self.call("zeDeviceGet", driver, ctypes.byref(one), ctypes.byref(self._device))
        self.call("zeContextCreate", driver, ctypes.byref(_ContextDesc(0xD)), ctypes.byref(self._context))

    def result_of(self, name: str, *arguments: Any) -> int:
        getter, place = _PLACES[name]
        table = (ctypes.c_void_p * 128)()  # more than any table has
        if getattr(self._library, getter)(_VERSION, table):
            raise SystemExit(f"{getter} of the CPU driver failed")
        return int(ctypes.CFUNCTYPE(ctypes.c_uint32)(table[place] or 0)(*arguments))

    def call(self, name: str, *arguments: Any) -> None:
        if result := self.result_of(name, *arguments):
            raise SystemExit(f"{name} of the CPU driver returned 0x{result:x}")

    def build(self, spirv: bytes, options: str) -> bytes:
        desc = _ModuleDesc(0x1B, None, 0, len(spirv), spirv, options.encode(), None)
        module, log, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
        result = self.result_of(
            "zeModuleCreate",
            *(self._context, self._device, ctypes.byref(desc), ctypes.byref(module), ctypes.byref(log)),
        )
        if result:
            self.call("zeModuleBuildLogGetString", log, ctypes.byref(size), None)
            text = ctypes.create_string_buffer(size.value)
            self.call("zeModuleBuildLogGetString", log, ctypes.byref(size), text)
            raise SystemExit(f"zeModuleCreate returned 0x{result:x}: {text.value.decode(errors='replace')}")
        self.call("zeModuleGetNativeBinary", module, ctypes.byref(size), None)
        binary = ctypes.create_string_buffer(size.value)
        self.call("zeModuleGetNativeBinary", module, ctypes.byref(size), binary)
        return binary.raw


def main() -> None:
    spirv, binary, options = sys.argv[1:]
    zemm.Engine("cpu")  # opens libze_cpu.so
    path = loaded_library("libze_cpu.so")
    if not path:
        raise SystemExit("the CPU device is one of the Level Zero loader, not of libze_cpu.so")
    Path(binary).write_bytes(_Driver(path).build(Path(spirv).read_bytes(), options))


if __name__ == "__main__":
    main()
