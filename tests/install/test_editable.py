# SPDX-License-Identifier: Apache-2.0
"""An editable installation, in an environment of its own. Builds the library once (minutes)."""

import os
import sys
import sysconfig
from pathlib import Path

import pytest
from support_tree import ROOT
from test_install import run

pytestmark = [pytest.mark.full, pytest.mark.long]
SCRIPT = """
import pathlib, numpy, zemm
from zemm.benchdnn.grammar import batch
from zemm.benchdnn.report import page
print(zemm.__file__, zemm.get_lib(), zemm.get_include(), sep="\\n")
assert batch.find("shapes_2d", []) and pathlib.Path(zemm.get_include(), "zemm/zemm.h").is_file()
y = zemm.matmul(numpy.ones((2, 64), numpy.int8), numpy.ones((64, 8), numpy.int8), engine=zemm.Engine("cpu"))
assert (y == 64).all()
"""


def test_editable_installation(tmp_path: Path) -> None:
    """The command of CONTRIBUTING.md. Python files are those of the source, libraries those of the build."""
    (command,) = [line for line in (ROOT / "CONTRIBUTING.md").read_text().splitlines() if " -e " in line]
    venv, build = tmp_path / "venv", tmp_path / "build"
    run(sys.executable, "-m", "venv", str(venv))
    (site,) = venv.glob("lib/python3.*/site-packages")
    # The packages of this environment, which need not be downloaded again.
    (site / "these.pth").write_text(sysconfig.get_paths()["platlib"])
    quick = [f"--config-settings=setup-args=-D{option}" for option in ("units=true", "optimization=0")]
    options = ["--no-deps", f"--config-settings=build-dir={build}", *quick]
    run(str(venv / "bin" / "python"), "-m", *command.replace("'", "").split(), *options)
    env = {"VIRTUAL_ENV": sys.prefix, "ZEMM_CACHE_DIR": os.environ["ZEMM_CACHE_DIR"]}
    said = run(str(venv / "bin" / "python"), "-c", SCRIPT, env=env, cwd=tmp_path)
    package = ROOT / "python" / "zemm" / "__init__.py"
    assert said.splitlines() == [str(package), str(build / "src"), str(ROOT / "include")]
    doctor = run(str(venv / "bin" / "zemm-doctor"), env=env, cwd=tmp_path)
    assert f"{build}/src/libzemm.so.0" in doctor
