# SPDX-License-Identifier: Apache-2.0
"""Files that the build installs into the package. An editable installation leaves them in the folders of
the source and of the build."""

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]


def package_file(name: str) -> Path:
    """The path of such a file. name: with the folders below the package."""
    path = _PACKAGE / name
    if path.exists():
        return path
    from importlib.resources import files  # costs as much as a tenth of `import zemm`

    found = files(__package__.partition(".")[0]) / name
    if not isinstance(found, Path):
        raise FileNotFoundError(f"the package has no file {name}: install it again")
    return found
