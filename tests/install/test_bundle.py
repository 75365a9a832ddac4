# SPDX-License-Identifier: Apache-2.0
"""zemm-bundle: its folder times matmuls from any place, with an empty environment and without Python."""

import functools
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
import zemm
from support_process import captured
from zemm import bundle

pytestmark = pytest.mark.xdist_group("bundle")
ARCHIVE_LIMIT = 64e6  # bytes
CASE = "int8_31"
LINE = re.compile(
    r"(?P<case>\w+) +(?P<shape>\d+x\d+x\d+) +(?P<types>\w+:\w+:\w+) +(any|ab|ba) +"
    r"(?P<attributes>[a-z -]*[a-z]) +"
    r"(?P<best>[\d.]+) +(?P<median>[\d.]+) +\d+ +[\d.]+  (?P<kernel>\w+)(?P<wrong>  WRONG)?"
)


@pytest.fixture(scope="module")
def folder(engine: zemm.Engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of a bundle, whose original is gone."""
    original = tmp_path_factory.mktemp("made") / "bundle"
    assert bundle.main([str(original)]) == 0
    copy = tmp_path_factory.mktemp("elsewhere") / "copy"
    return Path(shutil.move(original, copy))


def zemm_time(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the program with this environment and nothing else in it."""
    return captured(
        [folder / "zemm_time", *arguments], env={"ZEMM_CACHE": "0"} | environment, cwd="/", timeout=120
    )


def test_empty_environment(folder: Path) -> None:
    done = captured(["env", "-i", folder / "zemm_time", "-s", "0", CASE], cwd="/")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert "dp4a" not in done.stdout  # the CPU device has it in software
    match = LINE.fullmatch(done.stdout.splitlines()[-1])
    assert match, done.stdout
    assert match["case"] == CASE
    assert (match["shape"], match["types"], match["attributes"]) == (
        "31x2560x2560",
        "s8:u8:f16",
        "per column",
    )
    assert 0 < float(match["best"]) <= float(match["median"])
    assert match["kernel"].startswith("matmul_int8_")
    assert not match["wrong"]


def loaded_libraries(log: str) -> set[Path]:
    """The libraries in the dynamic linker's log (LD_DEBUG=files)."""
    return {Path(path) for path in re.findall(r"calling init: (\S+)", log)}


def test_all_that_is_loaded_is_in_the_folder(folder: Path) -> None:
    # zemm opens the machine's Level Zero loader if there is one, and that its drivers.
    done = zemm_time(folder, "-s", "0", "bf16_31", LD_DEBUG="files", ZE_ENABLE_ALT_DRIVERS="none")
    assert done.returncode == 0, done.stderr[-2000:]
    loaded = loaded_libraries(done.stderr)
    assert {folder / name for name in ("libzemm.so.0", "libze_cpu.so", "libintelocl.so")} <= loaded
    system = {path for path in loaded if path.parent != folder}
    assert system
    assert {
        path
        for path in system
        if not (bundle.SYSTEM.fullmatch(path.name) or path.name.startswith("libze_loader.so"))
    } == set()


def test_cpu_without_avx512(folder: Path) -> None:
    """The runtime's files for another instruction set than that of this machine are there."""
    masked = {"CL_CONFIG_CPU_TARGET_ARCH": "core-avx2", "ZEMM_DEVICE_MASK": "avx512,avx512_vnni,avx_vnni"}
    done = zemm_time(folder, "-s", "0", CASE, LD_DEBUG="files", **masked)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "avx512" not in done.stdout.splitlines()[-1]
    assert folder / "libocl_svml_l9.so" in loaded_libraries(done.stderr)


def test_wrong_results_are_found(folder: Path, tmp_path: Path) -> None:
    """With an execution that does nothing, dst stays 0."""
    (tmp_path / "lazy.c").write_text("int zemm_primitive_execute(void) { return 0; }\n")
    lazy = tmp_path / "lazy.so"
    subprocess.run(["cc", "-shared", "-fPIC", tmp_path / "lazy.c", "-o", lazy], check=True)
    done = zemm_time(folder, "-s", "0", CASE, LD_PRELOAD=str(lazy))
    assert done.returncode == 1
    assert done.stdout.endswith("  WRONG\n")
    assert re.search(rf"{CASE}: element \[\d+, \d+\] is 0, not -?\d", done.stdout)


def test_command_line_of_the_program(folder: Path) -> None:
    names = zemm_time(folder, "-l").stdout.split()
    assert len(names) == len(set(names)) > 15
    assert CASE in names
    for arguments, words in (
        (["what"], 'no case is named "what"'),
        (["-s", "x"], 'not "x"'),
        (["-z"], "usage:"),
    ):
        done = zemm_time(folder, *arguments)
        assert done.returncode == 2
        assert words in done.stderr
        assert not done.stdout


def test_files(folder: Path) -> None:
    text = (folder / "README.txt").read_text()
    assert zemm.__version__ in text
    assert re.search(r"glibc 2\.\d\d, libstdc\+\+ 3\.4\.\d\d ", text)
    assert (folder / "licenses" / "intel-opencl-rt" / "LICENSE.txt").is_file()
    for path in [folder, *folder.rglob("*")]:
        assert not path.is_symlink()
        assert not path.stat().st_mode & 0o022, f"others could write {path}"


def test_missing_runtime(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ZE_CPU_OPENCL_LIBRARY", str(tmp_path / "none.so"))
    assert bundle.main([str(tmp_path / "folder")]) == 1
    said = capsys.readouterr().err
    assert said.startswith("zemm-bundle: the CPU device cannot be bundled: ")
    assert "none.so" in said
    assert not (tmp_path / "folder").exists()


def test_folder_in_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").touch()
    assert bundle.main([str(tmp_path)]) == 1
    assert "not an empty folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_missing_library(tmp_path: Path) -> None:
    """A library that cannot load here would not load on the server."""
    (tmp_path / "a.c").write_text("int a(void) { return 1; }\n")
    (tmp_path / "b.c").write_text("int a(void); int b(void) { return a(); }\n")
    for name, more in (("a", []), ("b", ["-L.", "-la"])):
        command = ["cc", "-shared", "-fPIC", f"{name}.c", "-o", f"lib{name}.so", *more]
        subprocess.run(command, cwd=tmp_path, check=True)
    with pytest.raises(bundle.BundleError, match=r"liba\.so was not found"):
        bundle.libraries_of([tmp_path / "libb.so"])


@pytest.mark.full
@pytest.mark.long
def test_archive(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # xz's first preset takes a fraction of the time. Its file is a quarter larger.
    monkeypatch.setattr(tarfile, "open", functools.partial(tarfile.open, preset=1))
    archive = bundle.make_archive(folder)
    assert archive.stat().st_size <= ARCHIVE_LIMIT
    subprocess.run(["tar", "xf", archive], cwd=tmp_path, check=True)
    done = zemm_time(tmp_path / folder.name, "-s", "0", CASE)
    assert done.returncode == 0, done.stdout + done.stderr
