# SPDX-License-Identifier: Apache-2.0
"""Get the sources of llama.cpp from the source package of llama-cpp-python: python fetch.py FOLDER

pip downloads the package from wherever it is told to look. pip asks a source package for its metadata, and
this one would need its build system for that: a stand-in answers. Status 1: pip finds no such package.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE, VERSION = "llama-cpp-python", "0.3.36"
STEM = f"{PACKAGE.replace('-', '_')}-{VERSION}"
STAND_IN = f'''
from pathlib import Path

def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    folder = Path(metadata_directory, "{STEM}.dist-info")
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\\nName: {PACKAGE}\\nVersion: {VERSION}\\n")
    return folder.name
'''


def download(folder: Path) -> Path | None:
    backend = folder / "scikit_build_core"
    backend.mkdir()
    (backend / "__init__.py").touch()
    (backend / "build.py").write_text(STAND_IN)
    options = ["--no-deps", "--no-build-isolation", f"--no-binary={PACKAGE}", f"--dest={folder}"]
    command = [sys.executable, "-m", "pip", "download", *options, f"{PACKAGE}=={VERSION}"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(folder)}, timeout=600, check=False)
    return None if done.returncode else folder / f"{STEM}.tar.gz"


def main(target: Path) -> int:
    if target.exists():
        return 0
    with tempfile.TemporaryDirectory() as name:
        archive = download(Path(name))
        if not archive:
            return 1
        part = f"{STEM}/vendor/llama.cpp"
        subprocess.run(["tar", "-xzf", archive, "-C", name, part], check=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(Path(name) / part, target)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
