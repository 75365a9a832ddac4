# SPDX-License-Identifier: Apache-2.0
"""Engines (devices) and streams (queues of work on them)."""

import threading
from contextlib import nullcontext, suppress
from typing import Any

from zemm._library import check, library
from zemm._library.locks import Lock
from zemm._objects.process_bound import ProcessBound
from zemm.errors import InvalidArgumentsError, NoDeviceError, ZemmError
from zemm.words import EngineKind, Peak


class Engine(ProcessBound):
    """A device. kind: "cpu" or "gpu"; index: which device of the kind.

    Each object is an engine of its own: two of one device are not equal, and a primitive of one
    takes no memory or stream of the other. Make one and pass it on.

    ValueError: kind is unknown, or index is too large. NoDeviceError (also a RuntimeError): there
    is no device of the kind, because the loader, a driver or the OpenCL runtime is missing; the
    message names the missing part and its package.
    """

    def __init__(self, kind: EngineKind = "cpu", index: int = 0) -> None:
        value = _kind(kind)
        index = check.integer(index, "index", least=0)
        try:
            self._handle: Any = library.create("engine", "engine_create", value, index)
        except InvalidArgumentsError as error:
            if self.count(kind):
                raise
            raise NoDeviceError(str(error)) from None
        self.kind = kind
        self.index = index
        self.thread_local = threading.local()  # objects that each thread keeps with the engine

    @staticmethod
    def count(kind: EngineKind) -> int:
        """The number of devices of a kind; 0 if the loader, a driver or a runtime is missing."""
        return int(library.plain("engine_get_count", _kind(kind)))

    @property
    def name(self) -> str:
        """The device's name, as its driver has it."""
        return library.text("engine_get_name", self._handle).strip()

    @property
    def features(self) -> tuple[str, ...]:
        """Optional instructions of the device ("avx512_vnni", ...) that ZEMM_DEVICE_MASK does not
        hide."""
        text = library.text("engine_get_features", self._handle)
        return tuple(text.split(",")) if text else ()

    @property
    def model(self) -> dict[str, str | int]:
        """Properties of a GPU: family ("xe_hpg", "xe_hpc", "xe2", ..., "unknown"), name, xe_cores,
        xves_per_core, sub_group, ...; zemm.h lists the keys at zemm_engine_get_model(). Empty for a
        CPU."""
        text = library.text("engine_get_model", self._handle)
        pairs = (item.split("=", 1) for item in text.split(",") if item)
        return {key: int(value) if value.isdigit() else value for key, value in pairs}

    def measure_peak(self, what: Peak) -> float:
        """Measure the device's highest rate. Operations per second, of which a multiply-add is two:
        "int8", "f32" and "bf16" by vectors of a CPU, "amx_..." by its tiles, "xmx_..." by DPAS of a GPU
        (zemm.words.Peak names all). Bytes per second: "copy" (bytes read plus bytes written), "read".
        NotImplementedError: the device lacks the instructions of the measuring kernel, or has them in
        software; or it is a GPU, and what needs a CPU."""
        value = library.value_of("peak", check.choice(what, Peak, "what"))
        return float(library.output("double", "engine_measure_peak", self._handle, value))

    def __repr__(self) -> str:
        return f"Engine({self.kind!r}, {self.index})"


def _kind(kind: str) -> int:
    return library.value_of("engine_kind", check.choice(kind, EngineKind, "kind"))


class Stream(ProcessBound):
    """A queue of work on an engine, which runs in order. Only one thread at a time may use it.

        with zemm.Stream(engine) as stream:
            primitive.execute(stream, args)
        # here the work has run

    The end of a with block waits, also if the block raises an exception; the stream stays usable.

    profiling: keep the device time of each execution.
    """

    def __init__(self, engine: Engine, profiling: bool = False) -> None:
        handle = check.handle(engine, Engine, "engine")
        flags = ["stream_in_order"] + ["stream_profiling"] * check.flag(profiling, "profiling")
        self.engine = engine
        # Handles that submitted work may still use, by address. They live until the stream has been
        # waited for.
        self._in_flight: dict[int, Any] = {}
        self._handle: Any = library.create(
            "stream",
            "stream_create",
            handle,
            library.flags(flags),
            keep=(handle, self._in_flight),
            before=library.wait_ignoring_errors,
        )

    def wait(self) -> None:
        """Wait until all submitted work has run."""
        library.call("stream_wait", self._handle)
        self._in_flight.clear()

    def _settle(self) -> None:
        """Wait if there is submitted work: the host is about to read what that may still write."""
        if self._in_flight:
            self.wait()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with suppress(ZemmError) if kind else nullcontext():  # the block's exception says more
            self.wait()

    def __repr__(self) -> str:
        return f"<Stream on {self.engine!r}>"

    def reset_profiling(self) -> None:
        """Forget the execution times kept so far."""
        library.call("reset_profiling", self._handle)

    def profiling_times(self) -> list[int]:
        """Wait, and return the device time in ns of each execution since the last reset, in
        order."""
        return library.profiling_times(self._handle)


_lock = Lock()  # for the list, which gets its one element when that is ready
_engines: list[Engine] = []


def default_engine() -> Engine:
    """The first GPU, else the CPU. The process has one such object."""
    with _lock.current:
        if not _engines:
            _engines.append(Engine("gpu" if Engine.count("gpu") else "cpu"))
        return _engines[0]


def stream_of(engine: Engine) -> Stream:
    """The stream that the calling thread uses on the engine, which keeps it."""
    streams = engine.thread_local
    if not hasattr(streams, "stream"):
        streams.stream = Stream(engine)
    stream: Stream = streams.stream
    return stream


def check_stream(stream: Stream, engine: Engine) -> None:
    if not isinstance(stream, Stream):
        raise InvalidArgumentsError(f"stream is a {type(stream).__name__}, not a Stream")
    if stream.engine is not engine:
        raise InvalidArgumentsError(
            f"the stream is on {stream.engine!r}, the work on {engine!r}: another engine object"
        )
