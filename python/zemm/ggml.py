# SPDX-License-Identifier: Apache-2.0
"""zemm's backend for ggml in programs of Python, such as llama-cpp-python, xllamacpp and pywhispercpp:

    import zemm.ggml
    print(zemm.ggml.load())

A process may hold several ggml, each with its own list of backends. load() finds the one that the program's
library uses, and loads the backend there. See docs/ggml.md.
"""

import ctypes
import importlib
import importlib.metadata
import importlib.util
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from zemm._functions.paths import get_lib
from zemm.doctor import CPU_PACKAGES
from zemm.engine import Engine
from zemm.errors import DeviceError, InvalidArgumentsError

CLIENTS = ("llama_cpp", "xllamacpp", "pywhispercpp.model")
CPU = 0  # ggml's number of the type of device
OF_GGML = "libggml"  # how the names of ggml's own libraries begin
ONLY_LOADED = os.RTLD_NOLOAD | os.RTLD_LAZY


@dataclass(frozen=True)
class Backend:
    """The backend in a ggml. library: the file that holds this ggml; version: ggml's."""

    library: Path
    version: str
    _products: "ctypes._FuncPointer" = field(repr=False, compare=False)

    @property
    def products(self) -> int:
        """How many products zemm has computed until now. 0 after a prompt: ggml's log says why."""
        return int(self._products())

    def __str__(self) -> str:
        return f"zemm multiplies in ggml {self.version} of {self.library}"


def load(client: str | ModuleType | None = None) -> Backend:
    """Load zemm's backend into the ggml that the process uses, or will; once, however often it is called.

    client: the module whose ggml is meant, or its name, which is imported; needed only if several have one.
    Without a ggml in the process, the one of llama_cpp, xllamacpp and pywhispercpp that is installed is
    imported.
    Call it before a model is loaded.

    Raises InvalidArgumentsError if there is no ggml or more than one, and DeviceError if ggml or the backend
    refuses, or if there is no CPU device; each says why.
    """
    if isinstance(client, str):
        client = importlib.import_module(client)
    found = _ggmls()
    if not found and client is None:
        _import_client()
        found = _ggmls()
    library = _choose(found, client)
    _check_runtime()
    return _load_into(library)


def _import_client() -> None:
    installed = [name for name in CLIENTS if importlib.util.find_spec(name.partition(".")[0])]
    if len(installed) != 1:
        which = f"these have one, say which: {', '.join(installed)}" if installed else "pip install xllamacpp"
        raise InvalidArgumentsError(
            f"no ggml is loaded in this process: import the program's module; {which}"
        )
    importlib.import_module(installed[0])


def _check_runtime() -> None:
    """Without the packages, only an engine tells whether there is a CPU device. It takes 0.1 GB."""
    try:
        for package in CPU_PACKAGES:
            importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        Engine("cpu")


class _Info(ctypes.Structure):
    """dl_phdr_info: the beginning."""

    _fields_ = (("address", ctypes.c_void_p), ("name", ctypes.c_char_p))


class _Place(ctypes.Structure):
    """Dl_info."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


def _loaded() -> Iterator[Path]:
    """The libraries of the process."""
    names: list[bytes] = []
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Info), ctypes.c_size_t, ctypes.c_void_p)

    def add(info: "ctypes._Pointer[_Info]", _size: int, _data: object) -> int:
        names.append(info.contents.name or b"")
        return 0

    ctypes.CDLL(None).dl_iterate_phdr(kind(add), None)
    return (Path(os.fsdecode(name)) for name in names if b"/" in name)


def _ggml_of(library: Path) -> Path | None:
    """The file whose ggml_backend_load() the library calls, or would."""
    try:
        function = ctypes.CDLL(str(library), mode=ONLY_LOADED).ggml_backend_load
    except (OSError, AttributeError):
        return None
    place = _Place()
    if not ctypes.CDLL(None).dladdr(ctypes.cast(function, ctypes.c_void_p), ctypes.byref(place)):
        return None
    return Path(os.fsdecode(place.file))


def _ggmls() -> dict[Path, list[Path]]:
    """The files of the process that hold a ggml, and the libraries that use each. One that no library uses
    counts only if there is no other: packages come with two copies.
    """
    users: dict[Path, list[Path]] = {}
    for library in _loaded():
        if ggml := _ggml_of(library):
            users.setdefault(ggml, [])
            if not library.name.startswith(OF_GGML):
                users[ggml].append(library)
    used = {ggml: libraries for ggml, libraries in users.items() if libraries}
    return used or users


def _is_of(client: ModuleType) -> Callable[[Path], bool]:
    """Whether a library came with the module: it is in its folder or in that of its libraries, or beside the
    folder with the package's name in its own.
    """
    folder = Path(client.__file__ or "").resolve().parent
    libraries = folder.parent / f"{folder.name}.libs"

    def is_of(file: Path) -> bool:
        file = file.resolve()
        is_beside = file.parent == folder.parent and folder.name in file.name
        return is_beside or file.is_relative_to(folder) or file.is_relative_to(libraries)

    return is_of


def _choose(found: dict[Path, list[Path]], client: ModuleType | None) -> Path:
    if client is not None:
        found = {ggml: users for ggml, users in found.items() if any(map(_is_of(client), [ggml, *users]))}
        if not found:
            raise InvalidArgumentsError(f"no library of {client.__name__} has or uses a ggml")
    if not found:
        raise InvalidArgumentsError("no ggml is loaded in this process")
    if len(found) > 1:
        raise InvalidArgumentsError(
            f"this process has more than one ggml: say which module's is meant, as in "
            f"zemm.ggml.load('llama_cpp'): {', '.join(map(str, found))}"
        )
    return next(iter(found))


def _load_into(library: Path) -> Backend:
    ggml = ctypes.CDLL(str(library), mode=ONLY_LOADED)
    for name in ("ggml_backend_reg_by_name", "ggml_backend_load", "ggml_backend_dev_by_type"):
        getattr(ggml, name).restype = ctypes.c_void_p
    ggml.ggml_version.restype = ctypes.c_char_p
    if not ggml.ggml_backend_dev_by_type(CPU):
        # They are libraries beside it. Programs load none if there is a backend already.
        ggml.ggml_backend_load_all_from_path(os.fsencode(library.parent))
    version = ggml.ggml_version().decode()
    file = Path(get_lib()) / "ggml" / "libggml-zemm.so"
    registry = ggml.ggml_backend_reg_by_name(b"zemm") or ggml.ggml_backend_load(os.fsencode(file))
    if not registry:
        raise DeviceError(f"ggml {version} of {library} does not use zemm: {_refusal(file)}")
    get = ggml.ggml_backend_reg_get_proc_address
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_char_p)
    products = ctypes.CFUNCTYPE(ctypes.c_int64)(get(registry, b"zemm_products"))
    return Backend(library, version, products)


def _refusal(file: Path) -> str:
    """Why the backend said no. If it did not, ggml did, whose log has the reason."""
    try:
        why = ctypes.CDLL(str(file), mode=ONLY_LOADED).ggml_zemm_refusal
    except (OSError, AttributeError):
        return "it could not be opened; ggml's log says why"
    why.restype = ctypes.c_char_p
    return why().decode() or "its interface is none that this zemm has: install a zemm that knows it"
