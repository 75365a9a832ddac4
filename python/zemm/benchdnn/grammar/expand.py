# SPDX-License-Identifier: Apache-2.0
"""Turns a command line into cases: options change the settings, and each DESC is expanded with
them."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from zemm._programs.usage import UsageError
from zemm.benchdnn.grammar import atoms, batch, bre, knobs, options
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.descriptor import Descriptor, parse_descriptor
from zemm.benchdnn.grammar.inner_product import WITH_BIAS, parse_inner_product
from zemm.benchdnn.grammar.options import Options
from zemm.benchdnn.grammar.settings import Settings

_MAX_DEPTH = 32
_MAX_FILES, _MAX_JOBS = 10_000, 1_000_000  # files may name others, and lists multiply
_MAX_DISTANCE = 6  # of names that are suggested instead of an unknown one
_OPEN_END = "No problem found for a given option!"
# The drivers: what a DESC begins with, and its parser.
_DRIVERS: dict[str, tuple[str, Callable[[str], Descriptor]]] = {
    "matmul": ("[0-9]", parse_descriptor),
    "ip": ("[a-z]", parse_inner_product),
}
_OTHER_DRIVERS = (
    *("binary", "bnorm", "brgemm", "concat", "conv", "deconv", "eltwise", "gated_mlp", "gnorm", "graph"),
    *("lnorm", "lrn", "pool", "prelu", "reduction", "reorder", "resampling", "rnn", "sdpa", "self"),
    *("shuffle", "softmax", "sum", "zeropad"),
)
_CHOICES = " or ".join(f"--{name}" for name in _DRIVERS)


@dataclass(frozen=True)
class Job:
    """One case of the run, with its index (which counts skipped cases) and its perf template."""

    index: int
    case: Case
    perf_template: str


class Walker:
    """Reads tokens from left to right and collects jobs, warnings (for stderr), notes (for stdout)
    and the files to write results and plots to."""

    def __init__(self) -> None:
        self.options = Options()
        self.settings = Settings()
        self.jobs: list[Job] = []
        self.warnings: list[str] = []
        self.notes: list[str] = []
        self.files: dict[str, list[str]] = {"output": [], "plot": []}
        self._opened_from: list[Path] = []
        self._open: list[Path] = []  # the files that are being read, each named by the one before
        self._count_of_files = 0
        self._driver = ""
        self._open_end = False

    def run(self, arguments: Sequence[str]) -> None:
        """Read a command line, without the program's name. UsageError says what is wrong in it."""
        if not arguments:
            raise UsageError("err: no arguments passed")
        self._take(arguments, 0)
        if not self._driver:
            raise UsageError(f"err: no driver given: {_CHOICES}")

    def _take(self, tokens: Sequence[str], depth: int) -> None:
        for token in tokens:
            self._open_end = False
            if self._driver and re.match(_DRIVERS[self._driver][0], token):
                self._expand(token)
            elif token.startswith("-"):
                self._open_end = bool(self._driver)
                self._option(token, depth)
            else:
                kind = "an option or a problem" if self._driver else "an option or a driver such as --matmul"
                raise UsageError(f"err: '{token}' is not {kind}")
        if self._open_end:
            self._warn(_OPEN_END)
            self._open_end = False

    def _option(self, token: str, depth: int) -> None:
        if re.fullmatch("-v[0-9]+", token):
            self.options = options.apply(self.options, "verbose", token[2:])
            return
        name, equals, text = token.removeprefix("--").partition("=")
        if not token.startswith("--"):
            raise UsageError(f"err: unknown option '{token}'", 2)
        if name in _DRIVERS and not equals:
            self._enter_driver(name)
        elif name in options.NAMES and equals:
            self.options = options.apply(self.options, name, text)
        elif token == "--peak":
            self.options = options.apply(self.options, name, "true")
        elif name in self.files and equals:
            self.files[name].append(text)
        elif name == "batch" and equals:
            self._batch(text, depth)
        elif not self._driver:
            if name in knobs.NAMES:
                raise UsageError(f"err: '{token}' comes before {_CHOICES}, whose option it is")
            if name in _OTHER_DRIVERS:
                raise UsageError(f"err: benchdnn's driver --{name} is none of zemm's: give {_CHOICES}", 2)
            known = [f"--{other}" for other in (*_DRIVERS, "batch", *self.files, *options.NAMES)]
            raise UsageError(f"err: {atoms.unknown('driver or global option', f'--{name}', known)}")
        elif name in _OTHER_DRIVERS and not equals:
            raise UsageError(
                f"err: benchdnn's driver --{name} is none of zemm's, and a command line is for one driver", 2
            )
        elif token == "--reset":
            self.settings = knobs.reset(self.settings)
        elif name in knobs.names_of(self._driver) and name != "reset" and equals:
            if name == "bia_dt":
                self._warn("--bia_dt is deprecated, use --bia-dt")
            knobs.apply(self.settings, name, text, self.options.allow_enum_tags_only)
        elif name in knobs.NAMES and name not in knobs.names_of(self._driver):
            (other,) = (driver for driver in _DRIVERS if name in knobs.names_of(driver))
            raise UsageError(f"err: '{token}' is an option of --{other}, not of --{self._driver}", 2)
        else:
            known = [*options.NAMES, *knobs.names_of(self._driver), *self.files, "batch"]
            raise UsageError(_unknown_option(name, token, known), 2)

    def _enter_driver(self, name: str) -> None:
        if self._driver not in ("", name):
            raise UsageError(f"err: --{name} after --{self._driver}: a command line is for one driver")
        if not self._driver and self.options.mode == "B":
            self.settings.is_bitwise = True
        self._driver, self._open_end = name, True

    def _warn(self, sentence: str) -> None:
        """Add a warning, once."""
        warning = f"{self._driver} driver: WARNING: {sentence}"
        if warning not in self.warnings:
            self.warnings.append(warning)

    def _batch(self, name: str, depth: int) -> None:
        if not self._driver:
            raise UsageError(f"err: --batch={name} comes before {_CHOICES}")
        if depth >= _MAX_DEPTH:
            raise UsageError(f"--batch={name}: files are nested deeper than {_MAX_DEPTH}")
        path = batch.find(name, self._opened_from)
        self._check_files(path)
        if path.parent not in self._opened_from:
            self._opened_from.append(path.parent)
        if self.options.verbose >= 50:
            self.notes.append(f"batch file: {path}")
        self._open.append(path.resolve())
        try:
            self._take(batch.tokens(path), depth + 1)
        except UsageError as error:
            raise UsageError(f"{error} (in --batch={name})", error.exit_code) from None
        finally:
            self._open.pop()

    def _check_files(self, path: Path) -> None:
        """UsageError if a file names itself, or if there are too many files."""
        if path.resolve() in self._open:
            chain = self._open[self._open.index(path.resolve()) :]
            names = " -> ".join(str(file) for file in (*chain, path.resolve()))
            raise UsageError(f"err: --batch={path}: the file is read by itself: {names}")
        self._count_of_files += 1
        if self._count_of_files > _MAX_FILES:
            raise UsageError(f"err: --batch={path}: more than {_MAX_FILES} files are to be read")

    def _expand(self, token: str) -> None:
        problem = _DRIVERS[self._driver][1](token)
        self._check_bias()
        if self.options.mode == "C" and not self.options.fills:
            raise UsageError("err: --mode-modifier=M leaves tensors without values, which mode C compares")
        pattern = bre.compiled(self.settings.match, "--match") if self.settings.match else None
        for case in self.settings.cases(self.options, problem):
            if pattern and not pattern.search(case.repro()):
                return
            if len(self.jobs) + self.options.repeats_per_prb > _MAX_JOBS:
                raise UsageError(f"err: problem '{token}': these are more than {_MAX_JOBS} cases")
            for _ in range(self.options.repeats_per_prb):
                self.jobs.append(Job(len(self.jobs), case, self.settings.perf_template))

    def _check_bias(self) -> None:
        """Warn, as benchdnn, if a direction gives bias another type than --bia-dt does."""
        settings = self.settings
        if self._driver == "ip" and {*settings.bia_dt} != {"undef"} and {*settings.direction} & {*WITH_BIAS}:
            self._warn(f"--bia-dt has no effect with --dir={' and '.join(WITH_BIAS)}, whose bias is f32")


def _unknown_option(name: str, token: str, known: Sequence[str]) -> str:
    """The sentence for an option that the driver does not have, with all names that are about as
    near as benchdnn's limit."""
    if name in known:
        form = f"--{name}" if name == "reset" else f"--{name}=VALUE"
        return f"err: option '{token}' must have the form {form}"
    limit = min(len(name) - 1, _MAX_DISTANCE)
    near = sorted((atoms.edit_distance(name, other), other) for other in known)
    similar = [f"--{other}" for distance, other in near if distance <= limit]
    ending = f"; did you mean {', '.join(similar)}?" if similar else ""
    return f"err: unknown option '--{name}'{ending}"


def expand(arguments: Sequence[str]) -> tuple[list[Job], list[str]]:
    """The cases of a command line, in order, and the warnings. UsageError says what is wrong in
    it."""
    walker = Walker()
    walker.run(arguments)
    return walker.jobs, walker.warnings
