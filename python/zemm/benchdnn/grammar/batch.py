# SPDX-License-Identifier: Apache-2.0
"""Case files (`--batch=`): finds them by name and splits them into tokens."""

from pathlib import Path

from zemm._programs.usage import UsageError


def packaged_folders() -> list[Path]:
    """The folders of zemm's own case files: in the installed package, or in the source tree."""
    package = Path(__file__).resolve().parents[1]
    folders = [package / "inputs", package.parents[2] / "benchdnn_cases"]
    return [folder for folder in folders if folder.is_dir()]


def find(name: str, opened_from: list[Path]) -> Path:
    """The path of the file `name`, which is searched in the current folder, in the folders of files
    opened before and among zemm's own case files. UsageError if it is in none of them."""
    folders = [Path(), *opened_from, *packaged_folders()]
    for folder in folders:
        path = folder / name
        try:
            if name and path.is_file():
                return path
        except (OSError, ValueError):
            break
    searched = ", ".join(str(folder) for folder in folders if folder.is_dir())
    raise UsageError(f"--batch={name}: cannot open the file (looked in {searched})")


def tokens(path: Path) -> list[str]:
    """The tokens of a file. A token that begins with `#` starts a comment until the end of the
    line. A token that ends with `\\` is joined with the next one. A `\\` alone joins the tokens before
    and after it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--batch={path}: cannot read the file: {error}") from None
    result: list[str] = []
    is_continued = False
    for line in text.splitlines():
        for word in line.split():
            if word.startswith("#"):
                break
            if is_continued and result:
                word = result.pop() + word
            is_continued = word.endswith("\\")
            word = word.removesuffix("\\")
            if word:
                result.append(word)
    return result
