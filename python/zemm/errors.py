# SPDX-License-Identifier: Apache-2.0
"""Exceptions: one per status of the C library, each also the built-in exception that fits it."""


class ZemmError(Exception):
    """A call failed. `str()` is the sentence of zemm_last_error(), `status` the name of the zemm_status_t."""

    status = "runtime_error"

    def __init__(self, message: str, status: str | None = None) -> None:
        super().__init__(message)
        if status is not None:
            self.status = status


class InvalidArgumentsError(ZemmError, ValueError):
    """The caller is wrong: a value, a shape or a combination that has no meaning."""

    status = "invalid_arguments"


class UnimplementedError(ZemmError, NotImplementedError):
    """A valid request that no implementation takes."""

    status = "unimplemented"


class OutOfMemoryError(ZemmError, MemoryError):
    """No memory on the host or on the device."""

    status = "out_of_memory"


class DeviceError(ZemmError, RuntimeError):
    """The device, its driver or a missing library failed."""


class NoDeviceError(DeviceError, InvalidArgumentsError):
    """There is no device of the kind: the sentence names the missing part and the package that has it."""

    status = "invalid_arguments"


BY_STATUS: dict[str, type[ZemmError]] = {
    kind.status: kind for kind in (InvalidArgumentsError, UnimplementedError, OutOfMemoryError, DeviceError)
}
