# SPDX-License-Identifier: Apache-2.0
"""Puts zemm's quantizers into Transformers' tables, and takes them out again."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from importlib import import_module
from typing import Any

from transformers import modeling_utils
from transformers.quantizers import auto
from transformers.quantizers.base import HfQuantizer

from zemm._library import check
from zemm.errors import InvalidArgumentsError, UnimplementedError
from zemm.transformers._config import CheckpointConfig, ZemmConfig
from zemm.transformers._formats import FORMATS
from zemm.transformers._quantizer import IS_VERSION_4, FloatQuantizer, Quantizer
from zemm.words import Activation

# A name of its own, so this replaces nothing.
auto.AUTO_QUANTIZER_MAPPING[ZemmConfig.quant_method] = FloatQuantizer
auto.AUTO_QUANTIZATION_CONFIG_MAPPING[ZemmConfig.quant_method] = ZemmConfig


def _with_quantizers(mapping: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Transformers' get_model_conversion_mapping() of 5.0 to 5.7, which does not let quantizers change the
    conversions. Here zemm's do."""

    @wraps(mapping)
    def asked(
        model: Any, key_mapping: Any = None, hf_quantizer: Any = None, *args: Any, **kwargs: Any
    ) -> list[Any]:
        found = mapping(model, key_mapping, hf_quantizer, *args, **kwargs)
        return hf_quantizer.update_weight_conversions(found) if isinstance(hf_quantizer, Quantizer) else found

    return asked


if not IS_VERSION_4 and not hasattr(HfQuantizer, "update_weight_conversions"):
    modeling_utils.get_model_conversion_mapping = _with_quantizers(
        modeling_utils.get_model_conversion_mapping
    )

# Transformers' readers of files, which it calls before zemm, and whose errors do not name the file.
_READERS = (
    ("transformers.modeling_utils", "load_state_dict"),
    ("transformers.integrations.gguf", "read_gguf_metadata"),
    ("transformers.configuration_utils", "load_gguf_checkpoint"),
    ("transformers.modeling_gguf_pytorch_utils", "load_gguf_checkpoint"),
)


def _naming(reader: Callable[..., Any]) -> Callable[..., Any]:
    """The reader, whose errors name the file."""

    @wraps(reader)
    def read(path: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return reader(path, *args, **kwargs)
        except (ImportError, OSError):
            raise
        except Exception as error:
            why = str(error) or type(error).__name__
            raise InvalidArgumentsError(f"the file {path} cannot be read: {why}") from error

    return read


# The quantizers of Transformers that are replaced, by method. None: there was none.
_replaced: dict[str, tuple[Any, Any]] = {}
_readers: list[tuple[Any, str, Any]] = []


def register(methods: Iterable[str] | None = None, *, activation: Activation | None = None) -> None:
    """Have Transformers load quantised checkpoints with zemm's layers, until unregister().

        zemm.transformers.register()
        model = AutoModelForCausalLM.from_pretrained("a checkpoint of GPTQ")

    methods: the quant_method of the checkpoints, by default all that zemm reads. Quantizers of others stay.
    activation: the type in which the layers multiply, as in zemm.Linear.from_quantized(); None: the type of
    the model. Models that are loaded already stay as they are. Another register() replaces the first.

    ValueError: zemm does not read one of the methods. NotImplementedError: it does with other packages.
    """
    if activation is not None:
        check.choice(activation, Activation, "activation")
    known = _methods()
    names = list(known if methods is None else [methods] if isinstance(methods, str) else methods)
    if "gguf" in names and "gguf" not in known:
        raise UnimplementedError("GGUF files need Transformers 5.17 or later, and the package gguf")
    if unknown := [name for name in names if name not in known]:
        raise InvalidArgumentsError(f"methods has {unknown[0]!r}, none of {', '.join(known)}")
    unregister()
    for name in names:
        tables = auto.AUTO_QUANTIZER_MAPPING, auto.AUTO_QUANTIZATION_CONFIG_MAPPING
        _replaced[name] = tables[0].get(name), tables[1].get(name)
        quantizer, config = known[name]
        tables[0][name] = type(quantizer.__name__, (quantizer,), {"activation": activation})
        tables[1][name] = config or tables[1][name]
    for module_name, reader in _READERS:
        with suppress(ImportError, AttributeError):  # versions differ in what they have
            module = import_module(module_name)
            _readers.append((module, reader, getattr(module, reader)))
            setattr(module, reader, _naming(getattr(module, reader)))


def _methods() -> dict[str, tuple[type[Any], type[Any] | None]]:
    """The methods that zemm reads, with their quantizers and their configs (None: Transformers' own)."""
    found: dict[str, tuple[type[Any], type[Any] | None]] = dict.fromkeys(
        FORMATS, (Quantizer, CheckpointConfig)
    )
    if "gguf" in auto.AUTO_QUANTIZER_MAPPING:  # from Transformers 5.17 on
        from zemm.transformers._torchao import TorchAoQuantizer

        found["torchao"] = TorchAoQuantizer, None
        # Without the package gguf Transformers reads no such files, either.
        with suppress(ImportError):
            from zemm.transformers._gguf import GgufQuantizer

            found["gguf"] = GgufQuantizer, None
    return found


def unregister() -> None:
    """Give Transformers back the quantizers that register() has replaced."""
    for name, before in _replaced.items():
        for table, entry in zip(
            (auto.AUTO_QUANTIZER_MAPPING, auto.AUTO_QUANTIZATION_CONFIG_MAPPING), before, strict=True
        ):
            if entry is None:
                table.pop(name, None)
            else:
                table[name] = entry
    _replaced.clear()
    for module, reader, before in _readers:
        setattr(module, reader, before)
    _readers.clear()


@contextmanager
def registered(
    methods: Iterable[str] | None = None, *, activation: Activation | None = None
) -> Iterator[None]:
    """register() for a block of statements."""
    register(methods, activation=activation)
    try:
        yield
    finally:
        unregister()
