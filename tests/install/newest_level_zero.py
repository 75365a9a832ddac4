# SPDX-License-Identifier: Apache-2.0
"""Downloads the newest Level Zero loader and headers, from Debian's unstable, into a folder.

The C and C++ libraries that the loader needs come along. Nothing is installed. Then run

    meson setup --reconfigure build -Dnewest_level_zero=FOLDER && meson test -C build --suite newest
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

SOURCES = Path("/etc/apt/sources.list.d/debian.sources")
PACKAGES = ["libze1", "libze-dev", "libc6", "libgcc-s1", "libstdc++6"]


def write_configuration(apt: Path) -> Path:
    """Configure apt with package lists and an archive of its own, from the mirror that the machine
    uses.
    """
    for name in ["lists/partial", "archives/partial"]:
        (apt / name).mkdir(parents=True)
    stanza = SOURCES.read_text().split("\n\n")[0].splitlines()
    lines = ["Suites: sid" if line.startswith("Suites:") else line for line in stanza]
    (apt / "sid.sources").write_text("\n".join(lines) + "\n")
    settings = {
        "Dir::Etc::SourceParts": "/nonexistent",
        "Dir::Etc::SourceList": apt / "sid.sources",
        "Dir::State::Lists": apt / "lists",
        "Dir::Cache": apt,
        "APT::Sandbox::User": "root",
    }
    path = apt / "apt.conf"
    path.write_text("".join(f'{name} "{value}";\n' for name, value in settings.items()))
    return path


def bring(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        apt = Path(name)
        get = ["apt-get", "-c", str(write_configuration(apt)), "-qq"]
        subprocess.run([*get, "update"], check=True)
        subprocess.run([*get, "download", *PACKAGES], cwd=apt / "archives", check=True)
        for package in (apt / "archives").glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", str(package), str(folder)], check=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    bring(parser.parse_args().folder.resolve())
