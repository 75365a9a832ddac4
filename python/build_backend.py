# SPDX-License-Identifier: Apache-2.0
"""The build backend of pyproject.toml: meson-python, whose wheel gets the tag of the oldest Python that
it runs on, not that of the Python which builds it.
"""

import base64
import hashlib
import re
import sys
import zipfile
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
(OLDEST,) = re.findall(r'(?m)^requires-python = ">=3\.(\d+)"$', PYPROJECT.read_text(encoding="utf-8"))
if sys.version_info < (3, int(OLDEST)):
    sys.exit(
        f"zemm needs Python 3.{OLDEST} or newer, and {sys.executable} is {sys.version.split()[0]}: make the "
        "virtual environment with a newer one, such as that of the package python3.11"
    )

from mesonpy import (  # noqa: E402
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)
from mesonpy import build_wheel as meson_wheel  # noqa: E402

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
]


def build_wheel(folder, config_settings=None, metadata_directory=None):
    """Only the stable ABI makes a wheel fit other Pythons (meson.build: limited_api)."""
    wheel = Path(folder) / meson_wheel(folder, config_settings, metadata_directory)
    tagged = wheel.with_name(re.sub(r"-cp3\d+-abi3-", f"-cp3{OLDEST}-abi3-", wheel.name))
    if tagged != wheel:
        retag(wheel, tagged)
        wheel.unlink()
    return tagged.name


def retag(wheel, tagged):
    """Copy a wheel with the tag of its new name. `wheel tags` of the package wheel does the same, but each
    build would need that package, also those of machines without a network."""
    tag = "-".join(tagged.stem.split("-")[2:])
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(tagged, "w", zipfile.ZIP_DEFLATED) as new:
        texts = {
            entry.filename: old.read(entry) for entry in old.infolist() if ".dist-info/" in entry.filename
        }
        (name,) = [name for name in texts if name.endswith(".dist-info/WHEEL")]
        (record,) = [name for name in texts if name.endswith(".dist-info/RECORD")]
        texts[name] = re.sub(rb"(?m)^Tag: .*$", f"Tag: {tag}".encode(), texts[name])
        digest = base64.urlsafe_b64encode(hashlib.sha256(texts[name]).digest()).rstrip(b"=").decode()
        line = f"{name},sha256={digest},{len(texts[name])}"
        texts[record] = re.sub(rf"(?m)^{re.escape(name)},.*$".encode(), line.encode(), texts[record])
        for entry in old.infolist():
            new.writestr(entry, texts.get(entry.filename) or old.read(entry))
