# SPDX-License-Identifier: Apache-2.0
"""Put C++ sources together in units, which compile in a fraction of the time (-Dunits=true).

units.py FOLDER SOURCE...
    write FOLDER/unit_<number>.cpp, which include the sources, and print their paths, one a line

Two sources may define the same name in their unnamed namespaces. So a source joins a unit only if no
such name of the one is a word of the other.
"""

import re
import sys
from pathlib import Path

LARGEST = 60_000  # characters of sources in a unit: all processors should have work until the end
COMMENT_OR_TEXT = re.compile(
    r'//(?! namespace$)[^\n]*|/\*.*?\*/|R"\((?:.*?)\)"|"(?:\\.|[^"\\\n])*"', re.DOTALL | re.MULTILINE
)
UNNAMED = re.compile(r"^namespace \{$(.*?)^\} // namespace$", re.DOTALL | re.MULTILINE)
OF_FILE = re.compile(r"^(?:static|const|constexpr|inline|using(?! namespace)|typedef)\b.*$", re.MULTILINE)
MACRO = re.compile(r"^#define (\w+)", re.MULTILINE)
TYPE = re.compile(r"\b(?:struct|class|union|enum(?: class)?|using) (\w+)")
ENUMERATORS = re.compile(r"^enum(?! class)[^{;]*\{([^}]*)\}", re.DOTALL | re.MULTILINE)
DECLARED = re.compile(r"(\w+) ?(?:\(|=|\{|;|\[)")
NO_NAMES = {"alignas", "decltype", "if", "operator", "requires", "void"}
WORD = re.compile(r"\w+")


class Source:
    def __init__(self, path: str) -> None:
        self.path = path
        text = COMMENT_OR_TEXT.sub(" ", Path(path).read_text(encoding="utf-8"))
        self.size = len(text)
        self.words = set(WORD.findall(text))
        self.own = set(MACRO.findall(text))
        for part in [*UNNAMED.findall(text), *OF_FILE.findall(text)]:
            for line in part.splitlines():
                if line[:1].isalpha():  # not a line inside of a function or a type
                    self.own.update(TYPE.findall(line)[:1])
                    self.own.update([name for name in DECLARED.findall(line) if name not in NO_NAMES][:1])
            for inside in ENUMERATORS.findall(part):
                self.own.update(WORD.findall(inside))


class Unit:
    def __init__(self) -> None:
        self.paths: list[str] = []
        self.words: set[str] = set()
        self.own: set[str] = set()
        self.size = 0

    def takes(self, source: Source) -> bool:
        fits = self.size + source.size <= LARGEST
        return fits and not self.own & source.words and not self.words & source.own

    def add(self, source: Source) -> None:
        self.paths.append(source.path)
        self.words |= source.words
        self.own |= source.own
        self.size += source.size


def main() -> None:
    folder, *paths = sys.argv[1:]
    units: list[Unit] = []
    for source in map(Source, paths):
        unit = next((unit for unit in units if unit.takes(source)), None)
        if not unit:
            unit = Unit()
            units.append(unit)
        unit.add(source)
    Path(folder).mkdir(parents=True, exist_ok=True)
    for number, unit in enumerate(units):
        out = Path(folder, f"unit_{number}.cpp")
        text = "".join(f'#include "{path}"\n' for path in unit.paths)
        # An unchanged unit keeps its time: it is not compiled again.
        if not out.exists() or out.read_text(encoding="utf-8") != text:
            out.write_text(text, encoding="utf-8")
        print(out)


if __name__ == "__main__":
    main()
