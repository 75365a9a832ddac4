# SPDX-License-Identifier: Apache-2.0
"""The command line of `python -m zemm.isa`."""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from zemm.isa import report
from zemm.isa.analysis import analyse
from zemm.isa.compiler import compile_spirv
from zemm.isa.errors import IsaError
from zemm.isa.model import family_of


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m zemm.isa", description=__doc__)
    parser.add_argument(
        "--device", default="pvc,dg2", help="ocloc's names, with commas (default: %(default)s)"
    )
    parser.add_argument("--ocloc", default="", help="compiler: COMMAND INPUT.spv DEVICE FOLDER OPTIONS")
    parser.add_argument("--json", metavar="FILE", help="write the figures")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the modules and the compiler's dumps there")
    bare = parser.add_argument_group("a module instead of zemm's rows")
    bare.add_argument("--spirv", metavar="FILE")
    bare.add_argument("--options", default="-ze-opt-large-register-file", help="build flags (%(default)s)")
    bare.add_argument("--kernel", default="", help="which one of several")
    bare.add_argument(
        "--group-k", type=int, help="elements of K of a group: counts the loop over groups, too"
    )
    return parser


def _module(args: argparse.Namespace) -> int:
    spirv = Path(args.spirv).resolve()
    if not spirv.is_file():
        raise IsaError(f"--spirv {args.spirv}: there is no such file")
    rows: list[list[str]] = []
    figures: list[dict[str, Any]] = []
    for device in args.device.split(","):
        family = family_of(device)
        with tempfile.TemporaryDirectory(prefix="zemm-isa-") as temporary:
            folder = Path(args.keep).resolve() / device if args.keep else Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            compiled = compile_spirv(spirv, device, args.options, folder, args.ocloc, args.kernel)
        a = analyse(compiled, family, args.group_k)
        rows.append(report.row(compiled.kernel.name, device, a))
        figures.append({"kernel": compiled.kernel.name, "device": device} | a.json())
        if a.calls:
            print(
                f"{device}: the loop calls {a.calls} functions that the compiler does not know",
                file=sys.stderr,
            )
    print(report.table(rows))
    if args.json:
        Path(args.json).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


def main(arguments: list[str] | None = None) -> int:
    args = _parser().parse_args(arguments)
    try:
        if args.spirv:
            return _module(args)
        raise IsaError("name a module with --spirv")
    except IsaError as error:
        print(f"zemm.isa: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"zemm.isa: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
