# SPDX-License-Identifier: Apache-2.0
"""The matmuls of a log of ZEMM_VERBOSE=profile, or of oneDNN's ONEDNN_VERBOSE, as case lines of
zemm-benchdnn."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from zemm._library.lists import ATTRIBUTES
from zemm._programs.usage import UsageError

_LINE = re.compile(r"(?:zemm|onednn|dnnl)_verbose,(?:.*?,)?(exec|create:\w+),(cpu|gpu)[^,]*,matmul,(.*)")
_OPTIONS = {row.option: row for row in ATTRIBUTES.values()}
# The value of a tensor with one value; other kinds of tensors get 2.
_VALUES = {"attr-scales": "0.5", "attr-precomputed-reductions": ""}
_NAMES = {"src": "s", "wei": "w", "dst": "d"}
_MOST_GROUPS = 2**16  # a case line has the size of each


@dataclass
class Matmuls:
    """The matmuls of a log. `executions`: how often each ran, by its arguments after `--matmul`; 0 if
    it was created only. `damaged`: the number of lines about matmuls that cannot be read."""

    executions: dict[tuple[str, ...], int]
    damaged: int = 0


def read(path: Path, what: str) -> list[str]:
    """The lines of a log. UsageError, which begins with `what`, if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise UsageError(f"err: {what}{path}: {error.strerror}") from None


def matmuls(lines: Iterable[str], engine: str = "") -> Matmuls:
    """The matmuls of a log, of engines of one kind or of all. UsageError if there is none."""
    found = Matmuls({})
    for line in lines:
        match = _LINE.search(line.strip())
        if not match or engine not in ("", match[2]):
            continue
        fields = match[3].split(",")
        try:
            dims = fields[5]
            # Dimensions that only an execution knows are in its own line.
            if "*" not in dims:
                case = tuple(_case(fields))
                found.executions[case] = found.executions.get(case, 0) + (match[1] == "exec")
        except (IndexError, ValueError):
            found.damaged += 1
    if not found.executions:
        kind = f" of a {engine} engine" if engine else ""
        damaged = f"; {found.damaged} lines about matmuls are damaged" if found.damaged else ""
        raise UsageError(
            f"err: the log has no matmul{kind} (ZEMM_VERBOSE=profile writes one a line{damaged})"
        )
    return found


def _case(fields: list[str]) -> list[str]:
    """implementation, propagation, descriptors, attributes, auxiliary, dimensions -> arguments."""
    types, strides, options = {}, {"src": "", "wei": "", "dst": ""}, ["--reset"]
    encodings: dict[str, list[str]] = {}
    for descriptor in fields[2].split():
        name, data_type, flags, kind, layout, *rest = descriptor.split(":")
        if name in _NAMES:
            types[name] = data_type
            if kind == "sparse":
                encodings[name] = [layout, *rest]
                continue
            strides[name] = rest[0]
            options.append(f"--{_NAMES[name]}tag={'any' if 'a' in flags else layout}")
        elif name == "bia" and data_type != "undef":
            mask = "".join(rest[1:]).partition("_mask")[2]
            options += [f"--bia-dt={data_type}", f"--bia_mask={mask}"]
    options.append("--dt=" + ":".join(types.get(name, "f32") for name in _NAMES))
    if any(strides.values()):
        # Not the tags of tensors that have strides instead.
        tags = tuple(f"--{letter}tag=" for name, letter in _NAMES.items() if strides[name])
        options = [option for option in options if not option.startswith(tags)]
        options.append("--strides=" + ":".join(strides.values()))
    if encodings:
        options = _with_encodings(options, encodings, fields[5])
    options += [_attribute(entry) for entry in fields[3].split()]
    return [*options, fields[5]]


def _with_encodings(options: list[str], encodings: dict[str, list[str]], problem: str) -> list[str]:
    """The options with `--encoding` or `--grouped`. The log has no sizes of groups, so that all are
    about equal, and no numbers of stored elements."""
    if encodings["src" if "src" in encodings else "wei"][0] != "grouped":
        kinds = (encodings[name][0] if name in encodings else "" for name in _NAMES)
        return [*options, "--encoding=" + ":".join(kinds)]
    _, dim, groups, *_ = encodings["src"]
    count = int(groups)
    if not 0 < count <= _MOST_GROUPS:
        raise ValueError(f"{count} groups")
    size, larger = divmod(int(problem.partition(":")[0].split("x")[int(dim)]), count)
    sizes = "+".join(str(size + (group < larger)) for group in range(count))
    # A bias has a row for each group, which the option says otherwise.
    return [re.sub("--bia_mask=.*", "--bia_mask=2", o) for o in options] + [
        f"--grouped={dim}:{count}:{sizes}"
    ]


def _attribute(entry: str) -> str:
    name, _, value = entry.partition(":")
    kind = _OPTIONS[name].kind if name in _OPTIONS else ""
    if kind == "tensor":
        value = "+".join(_quantised(part, _VALUES.get(name, "2")) for part in value.split("+"))
    elif name == "attr-post-ops":
        value = re.sub(r"\b(eltwise|binary)_", "", value).replace("_use_dst_for_bwd", "_dst")
    elif kind == "flag":
        value = "true" if value == "1" else "false"
    elif name == "attr-reduced-range":
        value = value.replace("src0", "src")
    return f"--{name}={value}"


def _quantised(entry: str, value: str) -> str:
    """An entry of scales, zero points, offsets or reductions. The log has no values, on which speed does not
    depend: a tensor with one value gets this one."""
    argument, mask, *rest = entry.split(":")
    argument = "src" if argument == "src0" else argument
    for word in ("host_scalar", "dynamic_fp", "dynamic_mx"):
        if word in rest:
            rest.remove(word)
            mask = word.replace("dynamic_mx", "mx")
    if mask in ("0", "host_scalar") and value:
        return ":".join([argument, mask.replace("0", "common"), value, *rest])
    return ":".join([argument, mask, *rest])
