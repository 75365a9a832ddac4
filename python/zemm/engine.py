# SPDX-License-Identifier: Apache-2.0
"""Devices and the streams of work on them."""

import threading
from typing import Any

from zemm import _library
from zemm.errors import InvalidArgumentsError, NoDeviceError


class Engine:
    """A device: kind "cpu" or "gpu", and its index among those.

    ValueError: unknown kind, index past the last device. NoDeviceError (also a RuntimeError): there is no
    device of the kind, as the loader, a driver or the OpenCL runtime is missing; the sentence names the
    part and its package.
    """

    def __init__(self, kind: str = "cpu", index: int = 0) -> None:
        value = _library.value_of("engine_kind", kind)
        try:
            self._handle: Any = _library.create("engine", "engine_create", value, index)
        except InvalidArgumentsError as error:
            if self.count(kind):
                raise
            raise NoDeviceError(str(error)) from None
        self.kind = kind
        self.index = index
        self.thread_local = threading.local()  # for what a thread keeps with an engine

    @staticmethod
    def count(kind: str) -> int:
        """Number of devices of a kind; 0 when something that it needs is missing."""
        return int(_library.plain("engine_get_count", _library.value_of("engine_kind", kind)))

    @property
    def name(self) -> str:
        """The device's name, as its driver has it."""
        return _library.text("engine_get_name", self._handle).strip()

    @property
    def features(self) -> tuple[str, ...]:
        """What the device runs beyond the baseline ("avx512_vnni", ...), less what ZEMM_DEVICE_MASK hides."""
        text = _library.text("engine_get_features", self._handle)
        return tuple(text.split(",")) if text else ()

    @property
    def model(self) -> dict[str, str | int]:
        """What a GPU is made of: family ("xe_hpg", "xe_hpc", "xe2", ..., "unknown"), name, xe_cores,
        xves_per_core, sub_group, ... (zemm_engine_get_model has the keys). Empty for a CPU."""
        text = _library.text("engine_get_model", self._handle)
        pairs = (item.split("=", 1) for item in text.split(",") if item)
        return {key: int(value) if value.isdigit() else value for key, value in pairs}

    def measure_peak(self, what: str) -> float:
        """The most that the device does, measured now: "int8" or "f32" operations per second (a multiply-add
        is two), "copy" (read and written) or "read" bytes per second. NotImplementedError: the device lacks
        what the measuring kernel is made of."""
        return float(
            _library.output("double", "engine_measure_peak", self._handle, _library.value_of("peak", what))
        )

    def __repr__(self) -> str:
        return f"Engine({self.kind!r}, {self.index})"


class Stream:
    """Work in order on an engine; one thread at a time. profiling: keep a device time per execution."""

    def __init__(self, engine: Engine, profiling: bool = False) -> None:
        if not isinstance(engine, Engine):
            raise InvalidArgumentsError(f"engine is a {type(engine).__name__}, not an Engine")
        flags = ["stream_in_order"] + ["stream_profiling"] * profiling
        self.engine = engine
        # What submitted work still uses, by address; the stream waits before any of it can go.
        self._in_flight: dict[int, Any] = {}
        self._handle: Any = _library.create(
            "stream",
            "stream_create",
            engine._handle,
            _library.flags(flags),
            keep=(engine._handle, self._in_flight),
            before=_library.wait_ignoring_errors,
        )

    def wait(self) -> None:
        """Return when everything submitted has run."""
        _library.call("stream_wait", self._handle)
        self._in_flight.clear()

    def reset_profiling(self) -> None:
        """Forget the times kept so far."""
        _library.call("reset_profiling", self._handle)

    def profiling_times(self) -> list[int]:
        """Device time in ns of each execution since the last reset, in order. Waits for the stream."""
        return _library.profiling_times(self._handle)
