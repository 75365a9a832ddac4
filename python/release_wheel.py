# SPDX-License-Identifier: Apache-2.0
"""Make the wheel to publish: `python python/release_wheel.py FOLDER [OPTIONS OF PIP]`, in a virtual
environment with `pip install auditwheel abi3audit wheel`.

pip names a wheel after the Linux of this machine. This one gets the tag of the oldest that it runs on,
which auditwheel finds. abi3audit checks that it runs on the Python of its tag.
"""

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def run(*command: str | Path) -> str:
    """The output of a tool of this environment. Its failure ends the program."""
    done = subprocess.run([sys.executable, "-m", *command], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed\n{done.stdout}")
    return done.stdout


def make(folder: Path, options: list[str]) -> Path:
    """Build the wheel into the folder and return its path."""
    with tempfile.TemporaryDirectory() as made:
        run("pip", "wheel", ROOT, "--no-deps", "--config-settings=build-dir=build", *options, "-w", made)
        (built,) = Path(made).glob("*.whl")
        # Not of the whole wheel: libdnnl.so is a text for the linker, which abi3audit does not read.
        with zipfile.ZipFile(built) as archive:
            extensions = [archive.extract(name, made) for name in archive.namelist() if ".abi3." in name]
        (minor,) = re.findall(r"-cp3(\d+)-abi3-", built.name)
        run("abi3audit", "--strict", f"--assume-minimum-abi3=3.{minor}", *extensions)
        # Nothing is added to the wheel: all that its libraries need comes with the system.
        (linux,) = re.findall(r'platform tag:\s+"(\w+)"', run("auditwheel", "show", built))
        name = run("wheel", "tags", "--remove", "--platform-tag", linux, built).strip()
        folder.mkdir(parents=True, exist_ok=True)
        return (Path(made) / name).rename(folder / name)


if __name__ == "__main__":
    print(make(Path(sys.argv[1]).resolve(), sys.argv[2:]))
