# SPDX-License-Identifier: Apache-2.0
"""Random forms of matmuls for `fuzz.py arithmetic`: a form is a case line of zemm-benchdnn without sizes.

The constants of kernels do not depend on M, N and K, so that few builds serve many sizes of a form.
"""

import math
import random
import re
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from support_rows import BY_NAME
from zemm._library.codes import span_of
from zemm._library.kernels import Row

INT8, INT4 = ("s8", "u8"), ("s4", "u4", "u2", "u3")
FLOATS, SMALL_FLOATS = ("f32", "f16", "bf16"), ("f8_e5m2", "f8_e4m3", "f4_e2m1")
OTHER_DST = ("f8_e5m2", "f8_e4m3", "s32", "s8", "u8")
SCALE_TYPES = ("f32", "f16", "bf16", "e8m0", "f8_e4m3")
POST_OPS = (
    "relu", "sum:0.5", "add:f32:per_oc", "mul:f32:common", "prelu:per_oc", "linear:0.5:1", "max:s8:3",
    "mul_inplace:{dst}",
)  # fmt: skip
GROUPS = (16, 32, 32, 64, 64, 128, 128, 192, 256, 4, 20, 36, 7)  # of elements along K
KINDS = ("int8", "int4", "weight only", "float")
GROUPED_POST_OPS = ("relu", "linear:0.5:1", "mul:f32:1", "mul:f32:3", "mul_inplace:{dst}")


@dataclass(frozen=True)
class Sizes:
    """M, N and K. groups: the sizes of the groups of rows or of K, whose sum M or K is."""

    m: int
    n: int
    k: int
    groups: tuple[int, ...] = ()

    @property
    def elements(self) -> int:
        return self.m * self.k + self.k * self.n * (len(self.groups) or 1) + self.m * self.n


@dataclass(frozen=True)
class Form:
    """kernel: what ZEMM_KERNEL says. grouping: "", "rows" or "k". batch: the batch dimensions of src and
    weights. unit: what whole groups of K are a multiple of. K is a multiple of unit_k, which is less where a
    last group may be shorter, and N of unit_n. options: with {k} for K. strides: for src,
    weights and dst the order of the last two dimensions and a padding, or nothing. has_bytes: src, weights
    and zero points have any values of their types, not the small ones of the driver. has_few_rows: sizes
    are those of a model that writes a word at a time, whose groups of rows are small, too. places: the form
    is an inner product with so many places and K channels; 0: a matmul.
    """

    dt: tuple[str, str, str]
    kernel: str = ""
    grouping: str = ""
    batch: tuple[tuple[int, int], ...] = ()
    unit: int = 1
    unit_n: int = 1
    unit_k: int = 1
    options: tuple[str, ...] = ()
    strides: tuple[tuple[str, int] | None, ...] = ()
    has_bytes: bool = False
    has_few_rows: bool = False
    places: int = 0

    @property
    def longest_k(self) -> int:
        """The most elements of K with which sums are exact."""
        scaled = "x" in "".join(option for option in self.options if "attr-scales" in option)
        return (4 * self.unit if scaled else 4096) if self.has_bytes else 1 << 31

    def shapes(self, s: Sizes) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The dimensions of src and weights."""
        if self.places:
            return (s.m, s.k, self.places), (s.n, s.k, self.places)
        src, wei = (tuple(dims[side] for dims in self.batch) for side in (0, 1))
        if self.grouping == "rows":
            wei = (len(s.groups),)
        return (*src, s.m, s.k), (*wei, s.k, s.n)

    def tokens(self, s: Sizes) -> list[str]:
        """The arguments of zemm-benchdnn for the sizes."""
        driver = "--ip" if self.places else "--matmul"
        found = ["--engine=cpu", "--allow-enum-tags-only=0", driver, f"--dt={':'.join(self.dt)}"]
        found += [option.replace("{k}", str(s.k)) for option in self.options]
        if self.places:
            return [*found, f"mb{s.m}ic{s.k}iw{self.places}oc{s.n}"]
        if self.grouping:
            sizes = "+".join(map(str, s.groups))
            found.append(f"--grouped={int(self.grouping == 'k')}:{len(s.groups)}:{sizes}")
        src, wei = self.shapes(s)
        if any(self.strides):
            dst = (*map(max, src[:-2], wei[:-2]), s.m, s.n)
            found.append("--strides=" + ":".join(map(strided, self.strides, (src, wei, dst))))
        return [*found, ":".join("x".join(map(str, shape)) for shape in (src, wei))]

    def line(self, s: Sizes) -> str:
        """The shell's command that repeats the case."""
        return line_of(self.kernel, self.tokens(s))


def line_of(kernel: str, tokens: list[str]) -> str:
    """The shell's command that repeats a case."""
    return f"{f'ZEMM_KERNEL={kernel} ' if kernel else ''}zemm-benchdnn {' '.join(tokens)}"


def strided(choice: tuple[str, int] | None, dims: tuple[int, ...]) -> str:
    """The strides of a tensor; "" for those of its tag."""
    if choice is None:
        return ""
    order, padding = choice
    *batch, rows, columns = dims
    length, count = (columns, rows) if order == "ab" else (rows, columns)
    pitch = length + padding
    step, strides = pitch * count + padding, [pitch, 1] if order == "ab" else [1, pitch]
    for dim in reversed(batch):
        strides.insert(0, step)
        step *= dim
    return "x".join(map(str, strides))


class Category(NamedTuple):
    """A share of the time is for a category: how forms are grouped, the kind of their types (KINDS),
    and whether they have few rows.
    """

    grouping: str
    kind: str
    has_few_rows: bool


class Forms:
    """Draws forms. only: a part of the names of the rows that may be forced, by which all forms then are."""

    def __init__(self, rng: random.Random, features: tuple[str, ...], only: str = "") -> None:
        self.rng = rng
        able = [row for row in BY_NAME.values() if only in row.name and is_able(row, features)]
        self.cpu = [row for row in able if not row.is_xe]
        self.xe = [row for row in able if row.is_xe]
        self.always = bool(only)
        self.categories: list[Category] = []  # whose turns come next

    def rows(self) -> list[str]:
        """The names of the rows that may be forced."""
        return [row.name for row in (*self.cpu, *self.xe)]

    def maybe(self, probability: float) -> bool:
        return self.rng.random() < probability

    def category(self) -> Category:
        """The category whose turn it is. All have theirs in a random order, then in another one."""
        if not self.categories:
            groupings = ("", "", "rows", "rows", "k")  # groups of K have few attributes
            self.categories = [Category(*of) for of in product(groupings, KINDS, (False, True))]
            self.rng.shuffle(self.categories)
        return self.categories.pop()

    def draw(self, category: Category) -> Form:
        rng, grouping = self.rng, category.grouping
        kind = {"int8": "integer", "int4": "integer"}.get(category.kind, category.kind)
        if category.kind == "float" and not grouping and self.maybe(0.04):
            kind = "f64"
        dt = self.types(kind, INT4 if category.kind == "int4" else INT8)
        if not grouping and kind != "f64" and self.maybe(0.1):
            return self.inner_product(category, kind, dt)
        batch = () if grouping else tuple(self.batch_dim() for _ in range(rng.choice((0, 0, 0, 1, 2))))
        options, unit, unit_n = self.attributes(kind, grouping, len(batch) + 2, dt)
        strides: tuple[tuple[str, int] | None, ...] = ()
        if not grouping and self.maybe(0.25):
            strides = tuple(
                (rng.choice(("ab", "ba")), rng.choice((0, 1, 2, 6, 64))) if self.maybe(0.7) else None
                for _ in range(3)
            )
        options += self.tags(grouping, dt, len(batch) + 2, strides)
        quantises = any("src-dyn-quant" in option for option in options)
        kernel = self.kernel("integer" if quantises else kind)
        tags = "".join(option for option in options if "tag=" in option)
        if not (strides or grouping or "any" in tags or ":" in kernel) and self.maybe(0.2):
            masks = rng.choice(("1:0", "0:2", "1:2", "2:1", "3:3")) if not batch else "0:0"
            options += (f"--runtime_dims_masks={masks}",)
        if self.maybe(0.7):
            unit_n = math.lcm(unit_n, span_of(dt[1]).elements)
        has_bytes = kind == "integer" and self.sums_are_exact(dt, options, unit) and self.maybe(0.5)
        # Elements that share a byte may lie along K.
        unit_k = unit if self.maybe(0.6) else min(unit, rng.choice((span_of(dt[1]).elements, 4, 4, 16)))
        return Form(
            dt,
            kernel,
            grouping,
            batch,
            unit,
            unit_n,
            unit_k,
            options,
            strides,
            has_bytes,
            category.has_few_rows,
        )

    def inner_product(self, category: Category, kind: str, dt: tuple[str, str, str]) -> Form:
        """One with what oneDNN's takes, and with zero points."""
        rng = self.rng
        options = [f"--dir={rng.choice(('FWD_I', 'FWD_B'))}"]
        options += [f"--{name}={rng.choice(('any', 'abx', 'axb'))}" for name in ("stag", "wtag")]
        options.append(f"--dtag={rng.choice(('any', 'ab', 'ba'))}")
        if kind == "weight only" or (dt[0] == "f32" and self.maybe(0.3)):
            mode = rng.choice(("any", "strict", "bf16", "f16"))
            options.append(f"--attr-fpmath={mode}{':true' if kind == 'weight only' else ''}")
        scales, points = [], []
        if kind != "float":
            scales = rng.sample(("src:common:0.5",) * (kind == "integer") + ("wei:per_oc", "dst:common:2"), 1)
            points = rng.sample(
                ("src:common:1",) * (kind == "integer") + ("wei:common:2", "wei:per_oc:s8"), 1
            )
        options += [f"--attr-scales={scale}" for scale in scales]
        options += [f"--attr-zero-points={point}" for point in points if self.maybe(0.5)]
        if self.maybe(0.5):
            names = ("relu", "sum:0.5", "add:f32:per_oc", "linear:0.5:1", "prelu:per_oc", "mul_inplace:{dst}")
            options.append(self.post_ops(names, dt))
        return Form(
            dt, self.kernel(kind), options=tuple(options), has_few_rows=category.has_few_rows,
            unit_n=span_of(dt[1]).elements, unit_k=span_of(dt[1]).elements, places=rng.choice((1, 1, 3)),
        )  # fmt: skip

    def post_ops(self, names: tuple[str, ...], dt: tuple[str, str, str]) -> str:
        ops = "+".join(self.rng.sample(names, self.rng.choice((1, 1, 2))))
        return f"--attr-post-ops={ops.replace('{dst}', dt[2])}"

    def sums_are_exact(self, dt: tuple[str, str, str], options: tuple[str, ...], unit: int) -> bool:
        """Whether dst holds sums of any values where K is short: there are only scales, by powers of two, and
        integer zero points of src and weights.
        """
        given = dict(option.lstrip("-").split("=", 1) for option in options)
        scales, points = given.get("attr-scales", ""), given.get("attr-zero-points", "")
        allowed = {"attr-scales", "attr-zero-points", "attr-precomputed-reductions", "attr-scratchpad"}
        allowed |= {"attr-deterministic", "stag", "wtag", "dtag", "runtime_dims_masks"}
        return (
            set(given) <= allowed
            and "dst" not in scales + points
            and "f" not in points
            and (dt[2] == "f32" or (dt[2] == "s32" and not scales))
            and given.get("wtag", "ab").isalpha()
            and given.get("wtag", "ab") != "any"
            and unit <= 64
        )

    def types(self, kind: str, integers: tuple[str, ...]) -> tuple[str, str, str]:
        """The types of src, weights and dst. integers: those of the weights of an integer matmul."""
        rng = self.rng
        if kind == "f64":
            return "f64", "f64", rng.choice(("f64", "f32"))
        if kind == "integer":
            return rng.choice(INT8), rng.choice(integers), rng.choice((*FLOATS, rng.choice(OTHER_DST)))
        if kind == "weight only":
            return rng.choice(FLOATS), rng.choice((*INT8, *INT4)), rng.choice((*FLOATS, "f8_e4m3", "s8"))
        src = rng.choice((*FLOATS, *SMALL_FLOATS))
        wei = rng.choice((src, src, *FLOATS, *SMALL_FLOATS))
        return src, wei, rng.choice((src, "f32", "f16", "bf16", rng.choice(OTHER_DST), "f4_e2m1"))

    def batch_dim(self) -> tuple[int, int]:
        size = self.rng.choice((1, 2, 3))
        return self.rng.choice(((size, size), (1, size), (size, 1), (size, 1)))

    def kernel(self, kind: str) -> str:
        """A row with or without a cut, or "" for the library's choice. AMX is slow in software, and so are
        rows for GPUs.
        """
        rng = self.rng
        if not self.always and self.maybe(0.55):
            return ""
        rows = self.xe if self.xe and (self.maybe(0.15) or not self.cpu) else self.cpu
        of_kind = ("int8", "any") if kind == "integer" else ("any", "float", "half", "bf16", "f16", "tf32")
        fitting = [row for row in rows if row.src in of_kind]
        row = rng.choice(fitting or rows)
        cuts = {"rows": (1, 2, 4, 8, 16, 32, 120), "ranges": (2, 3, 5), "strip": (2, 3), "slices": (2, 4)}
        text = row.name
        for name, values in cuts.items():
            if self.maybe(0.3) and (name == "slices") <= row.is_xe and (name == "rows") <= (not row.is_xe):
                text += f":{name}={rng.choice(values)}"
        return text

    def tags(
        self, grouping: str, dt: tuple[str, str, str], ndims: int, strides: tuple[tuple[str, int] | None, ...]
    ) -> tuple[str, ...]:
        """The tags of tensors without strides and groups."""
        plain = "abcd"[:ndims]
        turned = plain[:-2] + plain[-1] + plain[-2]
        of_weights = ["any", plain, plain, turned, turned]
        if ndims == 2 and not grouping and "f64" not in dt:
            wide = dt[1] in FLOATS
            of_weights.append("BA16a64b" if wide else "BA16a64b4a")
        if grouping == "rows":
            return (f"--wtag={self.rng.choice(('any', 'abc', 'abc', 'acb'))}",)
        if grouping == "k":
            return (f"--dtag={self.rng.choice(('any', 'abc', 'acb'))}",)
        choices = {"stag": [plain, plain, turned], "wtag": of_weights, "dtag": [plain, plain, plain, turned]}
        return tuple(
            f"--{name}={self.rng.choice(tags)}"
            for (name, tags), given in zip(choices.items(), strides or (None,) * 3, strict=True)
            if given is None
        )

    def attributes(
        self, kind: str, grouping: str, ndims: int, dt: tuple[str, str, str]
    ) -> tuple[tuple[str, ...], int, int]:
        """The options of attributes, and the units of K and N that their groups want."""
        rng, found = self.rng, []
        if kind == "weight only" or (dt[0] == "f32" and self.maybe(0.3)):
            mode = rng.choice(("any", "strict", "bf16", "f16", "tf32"))
            found.append(f"--attr-fpmath={mode}{':true' if kind == 'weight only' else ''}")
        if self.maybe(0.1):
            found.append("--attr-deterministic=true")
        if self.maybe(0.15):
            found.append("--attr-scratchpad=user")
        quantises = kind == "weight only" and not grouping and self.maybe(0.3)
        if quantises:
            found.append(f"--attr-src-dyn-quant={rng.choice((*GROUPS, 10**6))}")
        if (quantises or dt[0] in ("s8", "u8")) and self.maybe(0.3):
            found.append("--attr-reduced-range=src")
        if grouping == "k" or kind == "f64":
            return tuple(found), 1, 1
        quantised, unit, unit_n = self.quantisation(kind, grouping, ndims, dt)
        found += self.in_two_levels(quantised) if self.maybe(0.3) else quantised
        if self.maybe(0.35):
            bias = rng.choice(("f32", "bf16", "s32")) if kind == "integer" else rng.choice(FLOATS)
            mask = 2 if grouping else rng.choice((1 << (ndims - 1), 0, (1 << ndims) - 1, 1 << (ndims - 2)))
            found += [f"--bia-dt={bias}", f"--bia_mask={mask}"]
        if self.maybe(0.35):
            found.append(self.post_ops(GROUPED_POST_OPS if grouping else POST_OPS, dt))
        if not grouping and dt[2] in ("f8_e5m2", "f8_e4m3") and self.maybe(0.2):
            found.append("--attr-saturation=true")
        if not grouping and self.maybe(0.05):
            found.append("--attr-dropout=0.5:12345")
        if not grouping and dt[2] in ("f16", "bf16", "f8_e5m2", "f8_e4m3") and self.maybe(0.05):
            found.append("--attr-rounding-mode=dst:stochastic")
        return tuple(found), unit, unit_n

    def in_two_levels(self, options: list[str]) -> list[str]:
        """The options, in which scales and offsets of weights in groups of K are integers with factors."""
        found, rng = [], self.rng
        for option in options:
            entry = re.search(r"^--attr-(scale|offset)s=.*\bwei:(\d+):(\w+):(\d+)x1\b", option)
            if entry:
                of, mask, dt, group = entry.groups()
                factors = f"{rng.choice(FLOATS)}:{int(group) * rng.choice((1, 2, 4, 8))}x1"
                found.append(f"--attr-{of}-factors=wei:{mask}:{factors}")
                option = option.replace(f"wei:{mask}:{dt}:", f"wei:{mask}:{rng.choice(INT8)}:")
            found.append(option)
        return found

    def quantisation(
        self, kind: str, grouping: str, ndims: int, dt: tuple[str, str, str]
    ) -> tuple[list[str], int, int]:
        """Scales, zero points, offsets and reductions."""
        rng = self.rng
        base = rng.choice(GROUPS)
        groups = [1]

        def group() -> int:
            groups.append(rng.choice((base, base, base, 2 * base, base * 4)))
            return groups[-1]

        by_rows = grouping == "rows"
        src_ndims, wei_ndims = (2, 3) if by_rows else (ndims, ndims)
        row, every = 1 << (src_ndims - 2), (1 << src_ndims) - 1
        column, every_wei = 1 << (wei_ndims - 1), (1 << wei_ndims) - 1
        per_column = column | 1 if by_rows and self.maybe(0.8) else column
        per_group = every_wei if self.maybe(0.8) else column | 1 << (wei_ndims - 2)
        scales, points, sums = [], [], ""
        has_offsets = kind != "float" and self.maybe(0.2)  # in the place of zero points of weights
        scale, long_scale = rng.choice(FLOATS), rng.choice(SCALE_TYPES)
        if kind == "integer" and self.maybe(0.5):  # as models have them
            along_k, by_groups = f":1x{group()}", f"{per_column}:{scale}"
            weights = rng.choice((by_groups, by_groups, f"{every_wei}:{long_scale}:{groups[-1]}x1"))
            src = rng.choice((f"{every}:{scale}{along_k}", f"{every}:{scale}{along_k}", f"{row}:{scale}"))
            found = [f"--attr-scales=src:{src}+wei:{weights}"]
            zp, knob = rng.choice((*INT8, dt[1])), "zero-points"
            if has_offsets:
                zp, knob = rng.choice(FLOATS), "offsets"
            if self.maybe(0.8):
                points = [f"{per_column}:{zp}", f"{per_column}:{zp}", f"{every_wei}:{zp}:{groups[-1]}x1"]
                found.append(f"--attr-{knob}=wei:{rng.choice(points)}")
                if self.maybe(0.3):
                    found.append(f"--attr-precomputed-reductions=src:{every}:s32{along_k}")
            return found, groups[-1], 1
        if kind == "integer" or dt[0] in SMALL_FLOATS:
            match rng.randrange(6):
                case 0:
                    scales.append(f"src:{'common' if by_rows else rng.choice(('common', 'host_scalar'))}:0.5")
                case 1:
                    scales.append(f"src:{row}:{scale}")
                case 2 | 3 | 4:
                    mask = every if self.maybe(0.8) else every & ~row if every & ~row else every
                    scales.append(f"src:{mask}:{long_scale}:1x{group()}")
        if kind != "float" or dt[1] in SMALL_FLOATS or self.maybe(0.2):
            match rng.randrange(6):
                case 0:
                    scales.append(f"wei:{'common' if by_rows else rng.choice(('common', 'host_scalar'))}:0.5")
                case 1 | 2:
                    scales.append(f"wei:{per_column}:{scale}")
                case 3 | 4:
                    scales.append(f"wei:{per_group}:{long_scale}:{group()}x1")
        n_group = 0
        if kind != "float":
            zp = rng.choice(FLOATS if has_offsets else ("s32", *INT8, *INT8, *INT4, dt[1], "f32", "f16"))
            match rng.randrange(8):
                case 0:
                    points.append(f"wei:common:2:{zp if has_offsets else rng.choice(('s32', *INT8))}")
                case 1 | 2 | 6:
                    points.append(f"wei:{per_column}:{zp}")
                case 3 | 4:
                    points.append(f"wei:{per_group}:{zp}:{group()}x1")
                case 5 if by_rows:
                    points.append(f"wei:{per_column}:{zp}")
                case 5:
                    n_group = 16
                    points.append(f"wei:{per_column}:{zp}:1x{n_group}")
        if kind == "integer":
            match rng.randrange(8):
                case 0:
                    points.append("src:common:1")
                case 1:
                    points.append(f"src:{row}:{rng.choice(INT8)}")
                case 2:
                    points.append(f"src:{every}:{rng.choice(INT8)}:1x{group()}")
            if points and self.maybe(0.3):
                sums = f"src:{every}:s32:1x{math.gcd(*groups[1:]) if groups[1:] else '{k}'}"
        if not grouping and self.maybe(0.2):
            mask = rng.choice(("common:0.5", f"{1 << (ndims - 1)}:f32", f"{1 << (ndims - 2)}:f32"))
            scales.append(f"dst:{mask}")
        if not grouping and dt[2] in ("s8", "u8", "s32") and self.maybe(0.3):
            points.append("dst:common:1")
        offsets = [point for point in points if has_offsets and point.startswith("wei:")]
        points = [point for point in points if point not in offsets]
        found = [f"--attr-scales={'+'.join(scales)}"] * bool(scales)
        found += [f"--attr-offsets={offset}" for offset in offsets]
        found += [f"--attr-zero-points={'+'.join(points)}"] * bool(points)
        found += [f"--attr-precomputed-reductions={sums}"] * bool(sums)
        return found, math.lcm(*groups), max(n_group, 1)


def is_able(row: Row, features: tuple[str, ...]) -> bool:
    """Whether the CPU device takes the row where it is forced."""
    return row.is_xe or row.has_tiles or not row.feature or row.feature in features
