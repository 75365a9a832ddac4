# SPDX-License-Identifier: Apache-2.0
"""Asks the Level Zero loader for its devices through ctypes, for zemm-doctor, which also has to tell of
drivers and devices that zemm cannot use.

A driver that crashes ends the process, so zemm-doctor asks in a child process.
"""

import ctypes
from dataclasses import dataclass
from typing import Any

LOADER = "libze_loader.so.1"
KINDS = {1: "gpu", 2: "cpu", 3: "fpga", 4: "mca", 5: "vpu"}
_STRUCTURE_DRIVER_PROPERTIES = 0x1
_STRUCTURE_DEVICE_PROPERTIES = 0x3
_NO_DRIVER = 0x78000001


class _DriverProperties(ctypes.Structure):
    _fields_ = (
        ("stype", ctypes.c_uint32),
        ("pNext", ctypes.c_void_p),
        ("uuid", ctypes.c_uint8 * 16),
        ("driverVersion", ctypes.c_uint32),
    )


class _DeviceProperties(ctypes.Structure):
    _fields_ = (
        ("stype", ctypes.c_uint32),
        ("pNext", ctypes.c_void_p),
        ("type", ctypes.c_uint32),
        ("ids", ctypes.c_uint32 * 5),
        ("maxMemAllocSize", ctypes.c_uint64),
        ("shape", ctypes.c_uint32 * 7),
        ("timerResolution", ctypes.c_uint64),
        ("validBits", ctypes.c_uint32 * 2),
        ("uuid", ctypes.c_uint8 * 16),
        ("name", ctypes.c_char * 256),
    )


@dataclass(frozen=True)
class Device:
    """A device that the loader reports. kind: "gpu", "cpu", ...; driver: index among the loader's
    drivers."""

    kind: str
    name: str
    driver: int
    driver_version: int


class LevelZeroError(Exception):
    """The loader cannot be opened, or a call into it failed."""


class NoDriverError(LevelZeroError):
    """There is no loader or no driver, as on a machine without a GPU."""


def _ask(loader: Any, function: str, *args: Any) -> None:
    result = getattr(loader, function)(*args) & 0xFFFFFFFF
    if result == _NO_DRIVER and function == "zeInit":
        raise NoDriverError("the loader found no driver (zeInit returned ZE_RESULT_ERROR_UNINITIALIZED)")
    if result:
        raise LevelZeroError(f"{function} of {LOADER} returned 0x{result:x}")


def _handles(loader: Any, function: str, *first: Any) -> list[ctypes.c_void_p]:
    count = ctypes.c_uint32(0)
    _ask(loader, function, *first, ctypes.byref(count), None)
    array = (ctypes.c_void_p * count.value)()
    _ask(loader, function, *first, ctypes.byref(count), array)
    return [ctypes.c_void_p(value) for value in array]


def devices() -> list[Device]:
    """The devices of all drivers, in the loader's order. NoDriverError if there is no loader or no driver,
    LevelZeroError if a call fails."""
    try:
        loader = ctypes.CDLL(LOADER)
    except OSError as error:
        raise NoDriverError(str(error)) from None
    _ask(loader, "zeInit", 0)
    found = []
    for number, driver in enumerate(_handles(loader, "zeDriverGet")):
        version = _DriverProperties(stype=_STRUCTURE_DRIVER_PROPERTIES)
        _ask(loader, "zeDriverGetProperties", driver, ctypes.byref(version))
        for device in _handles(loader, "zeDeviceGet", driver):
            properties = _DeviceProperties(stype=_STRUCTURE_DEVICE_PROPERTIES)
            _ask(loader, "zeDeviceGetProperties", device, ctypes.byref(properties))
            kind = KINDS.get(properties.type, f"type {properties.type}")
            name = properties.name.decode(errors="replace").strip()
            found.append(Device(kind, name, number, version.driverVersion))
    return found
