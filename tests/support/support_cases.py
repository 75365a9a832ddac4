# SPDX-License-Identifier: Apache-2.0
"""Problems of the tests: case lines of zemm-benchdnn, and the tables of them in problems.txt.

Layouts are dense where a line names none. Words without dashes say what a case line cannot:
- src_pad, wei_pad, dst_pad: elements between rows (and planes) beyond the dense stride
- src_within, wei_within: the dims of a larger tensor of which the tensor is a part, and where it begins
- limit, rough, huge_zero_points, seed: the values of tensors (support_fill.py)
- narrow, rounds_to_bf16, scaled_at_once: how a row rounds (support_bounds.py)
Tests have words of their own beside these.
"""

from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

from zemm._library.codes import span_of
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.arguments import Argument
from zemm.benchdnn.grammar.attributes import Quantization
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.expand import expand
from zemm.benchdnn.grammar.tags import normalized
from zemm.dtypes import SUB_BYTE

Dims = tuple[int, ...]
PER_BYTE = {name: span_of(name).elements for name in SUB_BYTE}  # elements that fill whole bytes
ANY = "--stag=any --wtag=any --dtag=any"
PACKED, PACKED_FLOATS = "--wtag=BA16a64b4a", "--wtag=BA16a64b"
_DENSE = ("--matmul", "--allow-enum-tags-only=0", "--stag=abx", "--wtag=abx", "--dtag=abx")
NAMES = {args.SRC: "src", args.WEI: "wei", args.DST: "dst"}
ARGS = {name: arg for arg, name in NAMES.items()}


@dataclass(frozen=True)
class Problem:
    """A case line with words."""

    line: str

    def but(self, more: object) -> "Problem":
        """The problem with other options, words or dims. An option without a value gets its default."""
        words = {_key(word): word for word in f"{self.line} {more}".split()}
        return Problem(" ".join(words.values()))

    @cached_property
    def words(self) -> dict[str, str]:
        """The words without dashes; "1" for one without a value."""
        split = [word.partition("=") for word in self.line.split() if not _is_of_the_driver(word)]
        return {name: value or "1" for name, _, value in split}

    def shaped(self, m: int, n: int, k: int, more: object = "") -> "Problem":
        """The problem with the same batch dims, and with other options or words."""
        src, wei = (
            "".join(f"{dim}x" for dim in dims[:-2]) for dims in (self.case.problem.src, self.case.problem.wei)
        )
        return self.but(f"{src}{m}x{k}:{wei}{k}x{n} {more}")

    def number(self, word: str, default: int = 0) -> int:
        return int(self.words.get(word, default))

    @cached_property
    def case(self) -> Case:
        words = [word for word in self.line.split() if _is_of_the_driver(word)]
        words.sort(key=lambda word: word[0].isdigit())  # options come before the dims that they are for
        ((job,), _) = expand([*_DENSE, *words])
        src, wei, dst = (self._given_strides(argument) for argument in args.matrices(job.case)[:3])
        return replace(job.case, strides=(src, wei, dst))

    def _given_strides(self, argument: Argument) -> Dims:
        """The strides of a tensor if they are others than those of its tag."""
        if argument.strides or not argument.tag.islower() or argument.tag == "any" or self.begin(argument):
            return argument.strides
        found = self.strides(argument)
        return () if found == strides_of(argument.dims, argument.tag, 0, 1) else found

    def strides(self, argument: Argument) -> Dims:
        """The strides of a tensor with a plain tag. A tensor that is a part has those of the larger one."""
        dims, per_byte = self.whole(argument), PER_BYTE.get(argument.data_type, 1)
        return strides_of(dims, argument.tag, self.number(f"{argument.role}_pad"), per_byte)

    def whole(self, argument: Argument) -> Dims:
        """The dims of the larger tensor of which an argument is a part, or its own."""
        within = self.words.get(f"{argument.role}_within")
        return _dims(within.partition("@")[0]) if within else argument.dims

    def begin(self, argument: Argument) -> Dims:
        """Where a part begins in the larger tensor; () if the argument is no part."""
        within = self.words.get(f"{argument.role}_within")
        return _dims(within.partition("@")[2]) if within else ()

    def find(self, kind: str, tensor: str) -> Quantization | None:
        """The scales, zero points or offsets of src, wei or dst."""
        return self.case.attributes.find(kind, ARGS[tensor])

    def tag(self, tensor: str) -> str:
        """The tag of src, wei or dst with the letters of its dims."""
        return normalized(self.case.tags[list(ARGS).index(tensor)], self.case.problem.ndims)

    @property
    def is_packed(self) -> bool:
        """Whether the weights have a layout with blocks."""
        return not self.tag("wei").islower()

    @property
    def is_along_n(self) -> bool:
        """Whether the weights are row-major."""
        return list(self.tag("wei")) == sorted(self.tag("wei"))

    @property
    def is_along_k(self) -> bool:
        """Whether K is the innermost dimension of plain weights."""
        return not self.is_packed and not self.is_along_n

    @property
    def scales_groups(self) -> bool:
        """Whether the sums of groups along K are scaled."""
        return any(
            entry and entry.groups for entry in (self.find("scales", "src"), self.find("scales", "wei"))
        )

    @property
    def dt(self) -> tuple[str, str, str]:
        """The types of src, weights and dst."""
        return self.case.dt

    @property
    def is_integer(self) -> bool:
        return self.dt[0] in ("s8", "u8")

    @property
    def k(self) -> int:
        return self.case.problem.k


def _key(word: str) -> str:
    return "dims" if word[0].isdigit() else word.partition("=")[0]


def _is_of_the_driver(word: str) -> bool:
    return word[0] == "-" or word[0].isdigit()


def _dims(text: str) -> Dims:
    return tuple(map(int, text.split("x")))


def strides_of(dims: Dims, tag: str, pad: int, per_byte: int) -> Dims:
    """The strides of a plain tag: each is a multiple of so many elements, and has a pad."""
    axes = [ord(letter) - ord("a") for letter in normalized(tag, len(dims))]
    strides = [0] * len(dims)
    step = 1
    for axis in reversed(axes):
        strides[axis] = step
        step = step * max(dims[axis], 1) + pad
        step += -step % per_byte
    return tuple(strides)


def shape(m: int, n: int, k: int) -> str:
    """The dims of a case line of two matrices."""
    return f"{m}x{k}:{k}x{n}"


@cache
def problems(section: str) -> dict[str, Problem]:
    """The problems of a table of problems.txt, by names."""
    text = Path(__file__).with_name("problems.txt").read_text(encoding="utf-8")
    _, _, rest = text.partition(f"[{section}]\n")
    lines = rest.partition("\n[")[0].splitlines()
    named = [line.split(": ", 1) for line in lines if not line.startswith("#")]
    return {name: Problem(line.strip()) for name, line in named}


# Problems that cover every type, layout class and flag of the matmul kernels.
PROBLEMS = problems("kernels") | problems("in place") | problems("shorter groups")
