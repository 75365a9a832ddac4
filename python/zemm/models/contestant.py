# SPDX-License-Identifier: Apache-2.0
"""The runtimes that take part, and what is known of each in the end."""

from dataclasses import dataclass, field

from zemm.words import Activation

PEERS = ("torch-f32", "torch-bf16", "llama.cpp", "openvino")
ACTIVATIONS: tuple[Activation, ...] = ("int8", "f32", "bf16", "f16")


@dataclass(frozen=True)
class Contestant:
    """name: "zemm int8", or a peer's. kind: "zemm", "torch", or the peer's name. dtype: torch's name of the
    type in which all but zemm's layers multiply. activation: of zemm's layers; None: that type. is_compiled:
    by zemm.transformers.compile()."""

    name: str
    kind: str
    dtype: str = ""
    activation: Activation | None = None
    is_compiled: bool = False


@dataclass(frozen=True)
class Settings:
    """Of a run. prompt, tokens: how many are read and written. bits, group: to which zemm quantises a float
    checkpoint."""

    prompt: int
    tokens: int
    text_tokens: int
    rounds: int
    threads: int
    bits: int
    group: int


@dataclass
class Loaded:
    """A model that has been loaded: seconds, and bytes of the process before, after, and at most."""

    seconds: float
    base: int
    resident: int
    peak: int
    version: str
    note: str = ""


@dataclass
class Turn:
    """The seconds until the first token, and tokens/s of both stages."""

    first: float
    prefill: float
    decode: float


@dataclass
class Agreement:
    """perplexity: of the text. difference: the largest one of logits, divided by the largest logit of the
    float model; None: there is no float model."""

    perplexity: float
    difference: float | None


@dataclass
class Entry:
    """The figures of a contestant. cold: with an empty cache of kernels. refusal: why it is left out."""

    who: Contestant
    version: str = ""
    note: str = ""
    cold: tuple[Loaded, Turn] | None = None
    warm: tuple[Loaded, Turn] | None = None
    turns: list[Turn] = field(default_factory=list)
    peak: int = 0
    agreement: Agreement | None = None
    refusal: str = ""


_TORCH = {"f32": "float32", "bf16": "bfloat16", "f16": "float16"}


def of_zemm(activation: Activation, is_compiled: bool = False) -> Contestant:
    """zemm with layers that multiply as activation says; what is around them does so in f32 for int8."""
    name = f"zemm {activation} compiled" if is_compiled else f"zemm {activation}"
    if activation == "int8":
        return Contestant(name, "zemm", _TORCH["f32"], activation, is_compiled)
    return Contestant(name, "zemm", _TORCH[activation], is_compiled=is_compiled)


def of_peer(name: str) -> Contestant:
    kind, _, dtype = name.partition("-")
    return Contestant(name, kind, _TORCH.get(dtype, ""))
