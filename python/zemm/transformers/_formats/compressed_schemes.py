# SPDX-License-Identifier: Apache-2.0
"""The quantization_config of compressed-tensors: which module has which scheme.

It is read as plain JSON. So checkpoints need the package compressed-tensors neither to be read, nor to
have a version that still knows their settings.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from zemm._library.check import shown
from zemm.errors import InvalidArgumentsError, UnimplementedError
from zemm.transformers._formats.entries import CONFIG, entry, group_setting
from zemm.transformers._formats.patterns import pattern

PACKED = "pack-quantized"
NVFP4 = "nvfp4-pack-quantized"
MXFP4 = "mxfp4-pack-quantized"
MXFP8 = "mxfp8-quantized"
_PLAIN = ("int-quantized", "float-quantized", "naive-quantized")
FORMATS = (PACKED, *_PLAIN, NVFP4, MXFP4, MXFP8)
_STRATEGIES = ("tensor", "channel", "group", "block", "tensor_group")


@dataclass(frozen=True)
class Scheme:
    """How the weights of a module are stored. group: elements of K that share a scale; None: all.
    block: rows and columns that share one. int8_group: elements of K that share a scale of an input
    which is to be quantised to integers; 0: all; None: it is multiplied as it is. is_static: the
    checkpoint has scales of the input, all or the common one."""

    format: str
    bits: int
    is_float: bool
    symmetric: bool
    strategy: str
    group: int | None
    block: tuple[int, int] | None
    is_ordered: bool
    int8_group: int | None
    is_static: bool

    @property
    def group_of_k(self) -> int | None:
        """The elements of K that share a scale, in groups or blocks; None: all."""
        return self.group if self.block is None else self.block[1]

    def __str__(self) -> str:
        """For errors."""
        kind = "" if self.symmetric else "asymmetric "
        shared = {"group": f"group_size {self.group}", "block": f"block_structure {self.block}"}
        with_ = shared.get(self.strategy, f"strategy {self.strategy}")
        return f"{self.format} of {kind}{self.bits} bits and {with_}"


class Schemes:
    """The schemes of a model. config: quantization_config of config.json. ValueError: it is damaged.
    NotImplementedError: it describes what zemm does not read."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        _check_whole(config)
        self._ignored = [(key, _matcher(key, "ignore")) for key in entry(config, "ignore", list, [])]
        self._targets: dict[str, Scheme] = {}
        groups = entry(config, "config_groups", Mapping, {})
        if not groups:
            raise InvalidArgumentsError("config_groups of quantization_config has no groups")
        for name in groups:
            group = entry(groups, name, Mapping, {}, f"config_groups of {CONFIG}")
            if group.get("weights") is None:
                continue  # inputs alone, as of attention
            where = f"the group {name} of quantization_config"
            scheme = _scheme(group, where, config.get("format"))
            targets = entry(group, "targets", list, where=where)
            if targets is None:
                raise InvalidArgumentsError(f"{where} has no targets")
            for target in targets:
                self._targets.setdefault(target, scheme)
        self._matchers = {target: _matcher(target, "targets") for target in self._targets}

    def of(self, names: set[str], class_name: str = "Linear") -> Scheme | None:
        """The scheme of a module; None: it is not quantised. names: in the model and in the files."""
        if any(key == class_name or any(map(fits, names)) for key, fits in self._ignored):
            return None
        # As in compressed-tensors: a name comes before a pattern, a pattern before a class.
        ordered = sorted(self._matchers, key=lambda target: (target == class_name, "re:" in target, target))
        for target in ordered:
            if target == class_name or any(map(self._matchers[target], names)):
                return self._targets[target]
        return None


def _check_whole(config: Mapping[str, Any]) -> None:
    """quantization_status is not asked: compressed checkpoints exist whose status is "frozen". Their tensors
    show what they are."""
    sparsity = entry(entry(config, "sparsity_config", Mapping, {}), "format", str, "dense", "sparsity_config")
    if sparsity != "dense":
        raise UnimplementedError(
            f"sparsity_config has the format {shown(sparsity)}: zemm reads dense weights only"
        )
    transform = entry(config, "transform_config", Mapping, {})
    if entry(transform, "config_groups", Mapping, where="transform_config"):
        raise UnimplementedError(
            "transform_config rotates the weights of this checkpoint, which zemm does not take back"
        )


def _scheme(group: Mapping[str, Any], where: str, common: Any) -> Scheme:
    found = group.get("format") or common
    if found not in FORMATS:
        raise UnimplementedError(f"{where} has the format {shown(found)}, none of {', '.join(FORMATS)}")
    weights = entry(group, "weights", Mapping, where=where)
    bits, kind = entry(weights, "num_bits", int, 8, where), entry(weights, "type", str, "int", where).lower()
    if not 1 <= bits <= 8 or kind not in ("int", "float"):
        raise InvalidArgumentsError(f"{where} has weights with num_bits {bits} and the type {shown(kind)}")
    widths = {NVFP4: (4,), MXFP4: (4,), MXFP8: (8,)}.get(found, (8,))
    if kind == "float" and bits not in widths:
        raise UnimplementedError(f"{where} has floating-point weights of {bits} bits, zemm reads {widths[0]}")
    if (kind == "float") != (found in (NVFP4, MXFP4, MXFP8)) and found not in _PLAIN:
        raise InvalidArgumentsError(f"{where} has weights of the type {kind}, which {found} cannot hold")
    symmetric = entry(weights, "symmetric", bool, True, where)
    if kind == "float" and not symmetric:
        raise UnimplementedError(f"{where} has weights of floats with zero points, which zemm does not read")
    size = entry(weights, "group_size", int, where=where)
    strategy = entry(weights, "strategy", str, where=where) or (
        "tensor" if size is None else "channel" if size == -1 else "group"
    )
    if strategy not in _STRATEGIES:
        raise InvalidArgumentsError(
            f"{where} has weights with the strategy {shown(strategy)}, none of {', '.join(_STRATEGIES)}"
        )
    is_grouped = strategy in ("group", "tensor_group")
    if is_grouped and (size is None or size < 1):
        raise InvalidArgumentsError(f"{where} has weights with group_size {size}, not a number from 1 on")
    return Scheme(
        format=found,
        bits=bits,
        is_float=kind == "float",
        symmetric=symmetric,
        strategy=strategy,
        group=size if is_grouped else None,
        block=_block(weights.get("block_structure"), where) if strategy == "block" else None,
        is_ordered=is_grouped and str(weights.get("actorder")).lower() in ("group", "dynamic", "true"),
        **_input(entry(group, "input_activations", Mapping, where=where), where),
    )


def _block(value: Any, where: str) -> tuple[int, int]:
    sizes = value.split("x") if isinstance(value, str) else value
    try:
        rows, columns = (int(size) for size in sizes)
    except (TypeError, ValueError):
        rows = columns = 0
    if rows < 1 or columns < 1:
        raise InvalidArgumentsError(f"{where} has the block_structure {shown(value)}, not rows and columns")
    return rows, columns


def _input(found: Mapping[str, Any] | None, where: str) -> dict[str, Any]:
    """Integers stay integers where int8 with a scale for each row is at least as exact. So
    asymmetric and floating-point inputs are multiplied as they are."""
    if found is None:
        return {"int8_group": None, "is_static": False}
    where = f"input_activations of {where}"
    is_int = entry(found, "type", str, "int", where).lower() == "int"
    is_int &= entry(found, "num_bits", int, 8, where) <= 8
    by_group = 0
    if entry(found, "strategy", str, None, where) == "group":
        by_group = group_setting(found, where=where)
    return {
        "int8_group": by_group if is_int and entry(found, "symmetric", bool, True, where) else None,
        "is_static": found.get("dynamic", False) is not True,
    }


def _matcher(name: str, key: str) -> Callable[[str], bool]:
    """Whether a name of a module is meant by an entry of ignore or targets."""
    if name.startswith("re:"):
        return pattern(name.removeprefix("re:"), f"{key} of {CONFIG}")
    return name.__eq__
