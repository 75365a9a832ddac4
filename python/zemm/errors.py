# SPDX-License-Identifier: Apache-2.0
"""Exceptions, one for each status of the C library. Each also derives from the built-in one that
fits it."""


class ZemmError(Exception):
    """A call failed. `str()` is the sentence of zemm_last_error(); `status` is the name of the
    zemm_status_t."""

    status = "runtime_error"

    def __init__(self, message: str, status: str | None = None) -> None:
        super().__init__(message)
        if status is not None:
            self.status = status


class InvalidArgumentsError(ZemmError, ValueError):
    """The caller passed a value, a shape or a combination that is never valid."""

    status = "invalid_arguments"


class UnimplementedError(ZemmError, NotImplementedError):
    """The request is valid, but the library has no implementation for it."""

    status = "unimplemented"


class OutOfMemoryError(ZemmError, MemoryError):
    """The host or the device is out of memory."""

    status = "out_of_memory"


class DeviceError(ZemmError, RuntimeError):
    """The device or its driver failed, or a library is missing."""


class NoDeviceError(DeviceError, InvalidArgumentsError):
    """There is no device of the kind. The message names the missing part and the package that
    contains it."""

    status = "invalid_arguments"


def missing_package(what: str, package: str, error: ImportError) -> ImportError:
    """The exception for `what`, which needs an optional package that cannot be imported."""
    return ImportError(f"{what} needs the package {package} ({error}): pip install {package}", name=package)


BY_STATUS: dict[str, type[ZemmError]] = {
    kind.status: kind for kind in (InvalidArgumentsError, UnimplementedError, OutOfMemoryError, DeviceError)
}
