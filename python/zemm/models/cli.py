# SPDX-License-Identifier: Apache-2.0
"""The program zemm-models: its command line."""

import argparse
import os
import shlex
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from zemm._programs.usage import UsageError
from zemm._programs.whole_file import check_writable, write_whole
from zemm._terminal.console import program
from zemm.models import random_gguf, random_gptq
from zemm.models.contest import contest
from zemm.models.contestant import ACTIVATIONS, PEERS, Contestant, Settings, of_peer, of_zemm
from zemm.models.model import Model, find
from zemm.models.output import as_html
from zemm.models.record import Run, run_of
from zemm.models.shapes import SHAPES
from zemm.models.table import table
from zemm.models.text import SOURCE, tokens_of
from zemm.words import Activation

_ABOUT = """Times a model of Transformers with zemm's layers beside other runtimes: prefill and decode in
tokens/s, loading, memory, the time to the first token, and how far logits are from the float model's."""

_WRITERS = {"json": Run.as_json, "html": as_html}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="zemm-models", description=_ABOUT, allow_abbrev=False)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--model", metavar="DIR|GGUF", help="a checkpoint, a GGUF file, or smollm2")
    which.add_argument("--random", metavar="SHAPE", help=f"random weights: {', '.join(SHAPES)}")
    parser.add_argument(
        "--gguf",
        choices=random_gguf.LINEARS,
        help="random weights as a GGUF file that all runtimes read, by default as GPTQ",
    )
    parser.add_argument("--activation", default="int8,f32", help=f"of zemm: {', '.join(ACTIVATIONS)}")
    parser.add_argument("--compile", action="store_true", help="zemm with compiled decode steps as well")
    parser.add_argument("--peer", default="", help=", ".join(PEERS))
    parser.add_argument("--prompt", type=_count, default=512, metavar="N", help="tokens that are read")
    parser.add_argument("--tokens", type=_count, default=64, metavar="N", help="tokens that are written")
    parser.add_argument("--text-tokens", type=_number, default=512, metavar="N", help="0: no agreement")
    parser.add_argument("--rounds", type=_count, default=3, metavar="N")
    parser.add_argument("--threads", type=_count, default=len(os.sched_getaffinity(0)), metavar="N")
    parser.add_argument("--bits", type=int, choices=(4, 8), default=4, help="of a float checkpoint with zemm")
    parser.add_argument("--group", type=_count, default=128, metavar="N", help="of such a checkpoint")
    for kind in _WRITERS:
        parser.add_argument(
            f"--{kind}", metavar="FILE", default="", help=f"write the results as {kind.upper()}"
        )
    return parser


def _count(text: str) -> int:
    if (number := _number(text)) == 0:
        raise argparse.ArgumentTypeError("0 is too few: give 1 or more")
    return number


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise argparse.ArgumentTypeError(f"{text!r} is no count")
    return int(text)


@program
def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark of a command line, by default the process's own. Returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    args = _parser().parse_args(arguments)
    try:
        return _run(args, shlex.join(["zemm-models", *arguments]))
    except UsageError as error:
        print(f"zemm-models: {str(error).removeprefix('err: ')}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    finally:
        _say("")


def _contestants(args: argparse.Namespace) -> list[Contestant]:
    kinds = _chosen(args.activation, ACTIVATIONS, "--activation")
    ways = (False, True) if args.compile else (False,)
    found = [of_zemm(cast(Activation, kind), is_compiled) for kind in kinds for is_compiled in ways]
    found += [of_peer(name) for name in _chosen(args.peer, PEERS, "--peer")]
    if not found:
        raise UsageError("--activation= and --peer= name no runtime")
    return found


def _chosen(text: str, known: Sequence[str], option: str) -> list[str]:
    names = list(dict.fromkeys(filter(None, text.split(","))))
    if unknown := [name for name in names if name not in known]:
        raise UsageError(f"{option}={text}: {unknown[0]!r} is none of {', '.join(known)}")
    return names


def _run(args: argparse.Namespace, command: str) -> int:
    who = _contestants(args)
    files = {kind: Path(name) for kind in _WRITERS if (name := getattr(args, kind))}
    for kind, path in files.items():
        check_writable(path, f"--{kind}")
    settings = Settings(
        args.prompt, args.tokens, args.text_tokens, args.rounds, args.threads, args.bits, args.group
    )
    try:
        import zemm.transformers  # noqa: F401
    except ImportError as error:
        raise UsageError(str(error)) from None
    with ExitStack() as stack:
        model = _model(args, stack)
        model.check_packages()
        prompt, text = tokens_of(model, settings)
        entries = contest(who, model, settings, prompt, text, _say)
    source = ("random tokens" if model.is_random else SOURCE) if text else ""
    run = run_of(command, model, settings, source, entries)
    _say("")
    print(table(run))
    for kind, path in files.items():
        write_whole(path, _WRITERS[kind](run).encode(), f"--{kind}")
    return 0 if any(entry.turns for entry in entries) else 1


def _model(args: argparse.Namespace, stack: ExitStack) -> Model:
    if args.model is not None:
        if args.gguf is not None:
            raise UsageError(f"--gguf={args.gguf}: only --random makes a file")
        return find(args.model)
    if args.random not in SHAPES:
        raise UsageError(f"--random={args.random}: none of {', '.join(SHAPES)}")
    _say("writing random weights")
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="zemm-models-")))
    shape = SHAPES[args.random]
    if args.gguf is not None:
        if find_spec("gguf") is None:
            raise UsageError(f"--gguf={args.gguf}: pip install gguf")
        return replace(
            find(str(random_gguf.write(shape, folder, args.gguf, "Q6_K"))), name=args.random, is_random=True
        )
    if shape.experts:
        raise UsageError(f"--random={args.random}: give it --gguf={' or '.join(random_gguf.LINEARS)}")
    size = random_gptq.write(shape, folder).stat().st_size
    # llama.cpp and OpenVINO read no GPTQ.
    llama_file = random_gguf.write(shape, folder) if find_spec("gguf") else None
    return Model(args.random, folder, None, "gptq", size, llama_file, is_random=True)


def _say(text: str) -> None:
    """Replace the line on the terminal that says what runs now."""
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
