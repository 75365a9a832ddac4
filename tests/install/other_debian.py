# SPDX-License-Identifier: Apache-2.0
"""Runs the first command of the README, then some tests, on another release of Debian: in a folder that
debootstrap fills from this machine's mirror, and with this machine's settings of apt and pip.

The folder is temporary, and what is mounted there is seen by these processes only, so nothing is left.
Where debootstrap cannot run, the program says why and succeeds.
"""

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "support"))
from readme import blocks
from support_tree import ROOT, tracked

TESTS = [
    "tests/install/test_wheel.py",
    "tests/python/test_python_import.py",
    "tests/matmul/test_bad_input.py",
]
NAMESPACE = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def mirror() -> str:
    """The mirror of Debian that apt uses here, or nothing."""
    form = "$(REPO_URI) $(LABEL) $(COMPONENT)"
    lines = output("apt-get", "indextargets", "--format", form, "Created-By: Packages").splitlines()
    return next((line.split()[0] for line in lines if line.endswith(" Debian main")), "")


def obstacle() -> str:
    """Why debootstrap cannot run here, or nothing."""
    if os.geteuid() != 0:
        return "debootstrap needs root"
    if not shutil.which("debootstrap"):
        return "debootstrap is not installed: apt-get install debootstrap"
    if not mirror():
        return "apt has no mirror of Debian, or apt-get update has not run"
    if subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode:
        return "this machine does not allow mounts"
    return ""


def pip_settings() -> dict[str, str]:
    """This machine's configuration of pip as environment variables."""
    found: dict[str, str] = {}
    for line in output(sys.executable, "-m", "pip", "config", "list").splitlines():
        name, _, value = line.partition("=")  # :env:.cert='...' comes before global.cert='...'
        variable = f"PIP_{name.split('.', 1)[1].upper().replace('-', '_')}"
        found.setdefault(variable, " ".join(ast.literal_eval(value).split()))
    return found


def bring_places(root: Path, settings: dict[str, str]) -> None:
    """Files and folders that pip's settings name have the same paths in the root."""
    for word in " ".join(settings.values()).split():
        path = Path(word.removeprefix("file://"))
        if not path.is_absolute() or not path.exists():
            continue
        # The pages of an index refer to files beside it.
        path = path.parent if path.name == "simple" else path
        inside = root / path.relative_to("/")
        if path.is_file():
            inside.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, inside)
        else:
            inside.mkdir(parents=True, exist_ok=True)
            subprocess.run(["mount", "--bind", path, inside], check=True)


def run_in(root: Path, release: str, tests: list[str]) -> int:
    """Fill the root and run the commands there."""
    made = subprocess.run(
        ["debootstrap", "--variant=minbase", "--include=ca-certificates", release, root, mirror()],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        print(made.stdout[-2000:], made.stderr[-2000:])
        print(f"Nothing is tested on another release of Debian: debootstrap did not get {release}.")
        return 0
    for source in tracked():
        copy = root / "zemm" / source.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, copy)
    settings = re.findall(r"(?m)^Acquire::(?:https?::|Check-|Retries).*$", output("apt-config", "dump"))
    (root / "etc/apt/apt.conf.d/90machine").write_text("\n".join([*settings, ""]))
    (root / "etc/dpkg/dpkg.cfg.d/machine").write_text("force-unsafe-io\n")
    subprocess.run(["mount", "-t", "proc", "proc", root / "proc"], check=True)
    for name in ("dev", "sys"):
        subprocess.run(["mount", "--rbind", f"/{name}", root / name], check=True)
    bring_places(root, pip_settings())
    own = ("VIRTUAL_ENV", "PYTHON", "PYENV", "ZE", "PIP_REQUIRE", "XDG", "TMPDIR")
    env = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    env |= {"HOME": "/root", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
    env |= {"DEBIAN_FRONTEND": "noninteractive", **pip_settings()}
    # zemm is installed already, so pip only adds what tests need.
    then = f". .venv/bin/activate && pip install 'zemm[test]' && pytest {' '.join(tests)}"
    for command in (blocks("Quick start")[0][1], then):
        done = subprocess.run(["chroot", root, "bash", "-c", f"cd /zemm && {command}"], env=env, check=False)
        if done.returncode:
            return done.returncode
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--release", default="trixie", help="the name of a release (trixie: Debian 13)")
    parser.add_argument("--root", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("tests", nargs="*", default=TESTS, help="what pytest runs")
    options = parser.parse_args()
    if options.root:
        return run_in(options.root, options.release, options.tests)
    if why := obstacle():
        print(f"Nothing is tested on another release of Debian: {why}.")
        return 0
    with tempfile.TemporaryDirectory(prefix="zemm-debian-") as folder:
        root = Path(folder) / "root"  # which others than its owner may enter
        command = [sys.executable, __file__, f"--release={options.release}", f"--root={root}", *options.tests]
        return subprocess.run([*NAMESPACE, *command], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
