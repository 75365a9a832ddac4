# SPDX-License-Identifier: Apache-2.0
"""Make the wheel to publish: `python python/release_wheel.py FOLDER [OPTIONS OF PIP]`, in a virtual
environment with `pip install auditwheel abi3audit wheel`.

pip names a wheel after the Python and the Linux of this machine. This one gets the tags of the
oldest that it runs on: abi3audit checks the Python, auditwheel finds the Linux.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def run(*command: str | Path) -> str:
    """What a tool of this environment prints. Its failure ends the program."""
    done = subprocess.run([sys.executable, "-m", *command], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed\n{done.stdout}")
    return done.stdout


def oldest_python() -> str:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found = re.search(r'requires-python = ">=(\d+\.\d+)"', text)
    assert found
    return found[1]


def make(folder: Path, options: list[str]) -> Path:
    """Build the wheel into the folder and return its path."""
    python = oldest_python()
    with tempfile.TemporaryDirectory() as made:
        run("pip", "wheel", ROOT, "--no-deps", "--config-settings=build-dir=build", *options, "-w", made)
        (built,) = Path(made).glob("*.whl")
        run("abi3audit", "--strict", "--assume-minimum-abi3", python, built)
        # Nothing is added to the wheel: all that its libraries need comes with the system.
        (linux,) = re.findall(r'platform tag:\s+"(\w+)"', run("auditwheel", "show", built))
        tags = ["--python-tag", f"cp{python.replace('.', '')}", "--platform-tag", linux]
        name = run("wheel", "tags", "--remove", *tags, built).strip()
        folder.mkdir(parents=True, exist_ok=True)
        return (Path(made) / name).rename(folder / name)


if __name__ == "__main__":
    print(make(Path(sys.argv[1]).resolve(), sys.argv[2:]))
