# SPDX-License-Identifier: Apache-2.0
"""Random input for functions that read foreign bytes.

    python tests/fuzz/fuzz.py [TARGET ...] [--seconds=60] [--seed=N]

The target arithmetic has options of its own, which fuzz_arithmetic.py explains. Each target runs in a
process of its own, which writes an input to a file before it takes it. So an
input that ends or hangs the process is kept, and `python tests/fuzz/fuzz.py TARGET --input=FILE` runs it
again. Inputs that once failed are in tests/fuzz/seeds/TARGET and run first, every time. Damaged
SPIR-V has a program of its own:

    meson test -C build cpu_driver_fuzz_direct --test-args='1000000 4000 7'
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "support"))
import fuzz_arithmetic
from fuzz_targets import TARGETS

SEEDS = Path(__file__).parent / "seeds"
LONGEST = 120  # seconds that one input may take, builds of kernels included


def seeds_of(target: str) -> list[Path]:
    return sorted(path for path in (SEEDS / target).glob("*") if path.is_file())


def work(name: str, seconds: float, seed: int, current: Path) -> None:
    """Run a target. This is the process of its own that fuzz() starts."""
    target = TARGETS[name]()
    rng = random.Random(seed)
    kept = [path.read_bytes() for path in seeds_of(name)]
    end = time.monotonic() + seconds
    count = 0
    while count < len(kept) or time.monotonic() < end:
        data = kept[count] if count < len(kept) else target.make(rng)
        current.write_bytes(data)
        target.take(data)
        count += 1
    print(f"{name}: {count} inputs, {len(kept)} of them kept ones; {target.summary()}")


def fuzz(name: str, seconds: float, seed: int, folder: Path) -> str | None:
    """The failure, or None. After a failure the input is in `folder`."""
    current = folder / f"{name}-{seed}"
    command = [
        sys.executable,
        __file__,
        name,
        f"--seconds={seconds}",
        f"--seed={seed}",
        f"--worker={current}",
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + LONGEST)
        output, status = done.stdout + done.stderr, str(done.returncode)
    except subprocess.TimeoutExpired:
        output, status = "", f"none within {LONGEST} seconds"
    if status == "0":
        print(output, end="")
        return None
    return f"{output}\n{name}: exit status {status}; the input is {current}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    known = [*TARGETS, "arithmetic"]
    parser.add_argument("target", nargs="*", choices=[*known, []], help="all of them by default")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--input", type=Path, help="one input, in this process")
    parser.add_argument("--only", default="", help="arithmetic: a part of the names of the kernels to force")
    parser.add_argument("--mask", default="", help="arithmetic: features that the device must not report")
    parser.add_argument("--failures", type=Path, help="arithmetic: the file of failing cases")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    names = args.target or known
    if args.input:
        TARGETS[names[0]]().take(args.input.read_bytes())
    elif args.worker:
        work(names[0], args.seconds, args.seed, args.worker)
    else:
        folder = Path(tempfile.mkdtemp(prefix="zemm-fuzz-"))
        failures = [
            failure
            for name in TARGETS
            if name in names and (failure := fuzz(name, args.seconds, args.seed, folder))
        ]
        print("\n".join(failures))
        status = len(failures)
        if "arithmetic" in names:
            kept = args.failures or folder / "arithmetic"
            report = fuzz_arithmetic.fuzz(args.seconds, args.seed, args.only, args.mask, kept)
            print("\n".join([report.summary(), *report.failures]))
            if report.failures:
                print(f"arithmetic: the lines are in {kept}, the seed is {args.seed}")
            status += len(report.failures)
        return min(status, 100)
    return 0


if __name__ == "__main__":
    sys.exit(main())
