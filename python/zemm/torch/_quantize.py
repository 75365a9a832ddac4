# SPDX-License-Identifier: Apache-2.0
"""zemm.torch.quantize_(): replaces the linear layers of a model, and its experts."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from zemm._library import check
from zemm._terminal.bar import steps
from zemm.dtypes import dtype_name
from zemm.errors import InvalidArgumentsError, UnimplementedError
from zemm.torch import _torchao
from zemm.torch._embedding import QuantEmbedding
from zemm.torch._expert_places import ExpertsPlace, names_of, place_of
from zemm.torch._module import QuantLinear
from zemm.torch._obstacles import is_layer, obstacles
from zemm.torch._quant_experts import quantised_experts
from zemm.torch._report import QuantizedLayer, QuantizeReport
from zemm.torch._stand_in import StandIn
from zemm.torch._threads import share_cores
from zemm.words import Activation

Filter = Callable[[torch.nn.Module, str], bool]
Source = Any  # a torch.nn.Linear or a torch.nn.Embedding


def quantize_(
    model: torch.nn.Module,
    *,
    bits: int = 8,
    group: int | None = 128,
    activation: Activation | None = None,
    filter: Filter | None = None,
    symmetric: bool = False,
    embeddings: bool = False,
    progress: bool = True,
    **more: Any,
) -> QuantizeReport:
    """Replace each torch.nn.Linear of a model by a QuantLinear, in place, and say what was done. Experts
    behind the experts interface of Transformers 5 (Mixtral, Qwen, DeepSeek and others), and those of Llama 4,
    are replaced, too.

        print(zemm.torch.quantize_(model, bits=4, group=128, activation="int8"))

    group: elements of K that share a scale. Where it does not divide K, the last group of a layer is shorter.
    None: all of K. activation_group likewise.

    filter: called with a module and its name; what it refuses stays as it is. So do layers that cannot be
    replaced, those whose weights the model itself reads or writes when it is called, and adapters of the
    package peft; the report has the reason.

    embeddings: also replace each torch.nn.Embedding by a QuantEmbedding. One whose weight is also that
    of a linear layer (tied) reads the packed weights of that layer. False: embeddings stay as they are,
    and a head that is tied to one gets weights of its own.

    progress: show a bar if stderr is a terminal and the model has several layers.

    symmetric, more: arguments of zemm.Linear.from_float(). Layers on the device meta become empty modules.
    Weights that torchao has quantised are taken as they are (QuantLinear.from_linear()).

    All layers are made before the first one is replaced, so an error leaves the model as it was. In the end
    share_cores() is called.

    ValueError: an argument is wrong, or the model itself is a torch.nn.Linear. Its message names the layer.
    """
    if not isinstance(model, torch.nn.Module):
        raise InvalidArgumentsError(f"model is {check.shown(model)}, not a torch.nn.Module")
    if isinstance(model, torch.nn.Linear) and is_layer(model):
        raise InvalidArgumentsError(
            "model is itself a torch.nn.Linear, which nothing can replace in place: use"
            " zemm.torch.QuantLinear.from_linear(model)"
        )
    if group is not None:
        check.integer(group, "group", 1)
    arguments = {"bits": bits, "group": group, "activation": activation, "symmetric": symmetric, **more}
    wanted = _Wanted(arguments, filter, obstacles(model))
    mixtures = _mixtures_of(model)
    order = {name: number for number, (name, _) in enumerate(model.named_modules(remove_duplicate=False))}
    places = _places_of(model, bool(check.flag(embeddings, "embeddings")))
    if (last := _last_parameter(model, places)) is not None:
        wanted.obstacles[last] = "it stays: the model has no other parameter that tells its type and device"
    made = _Made()
    with steps(len(places) + len(mixtures), progress) as begin:
        # Heads come before the embeddings that read them.
        for place in sorted(places, key=lambda p: isinstance(p.module, torch.nn.Embedding)):
            begin(place.name)
            _make(place, places, wanted, made)
        for mixture in mixtures:
            begin(mixture.name)
            _make_experts(model, mixture, wanted, made)
    rows = [(place.name, _row(place, made)) for place in places]
    for mixture in mixtures:
        rows += [(mixture.name, row) for row in _rows_of_experts(mixture, made, arguments)]
        if (experts := made.modules.get(id(mixture.module))) is not None:
            model.set_submodule(mixture.name, experts)
    for place in places:
        module = made.modules.get(id(place.module))
        if module is not None:
            for parent, key in place.owners:
                parent._modules[key] = module
    _untie(model)
    share_cores()
    return QuantizeReport(tuple(row for name, row in sorted(rows, key=lambda named: order[named[0]])))


@dataclass
class _Place:
    """A module, its name, and all owners that have it as a part, with its name there."""

    name: str
    module: Source
    owners: list[tuple[torch.nn.Module, str]]
    is_asked: bool = True  # an embedding is listed only because a layer is tied to it, if not


@dataclass
class _Mixture:
    """The experts of a model of Transformers. place: what zemm knows of them; None: nothing."""

    name: str
    module: torch.nn.Module
    place: ExpertsPlace | None


@dataclass(frozen=True)
class _Wanted:
    """How layers are quantised: arguments of from_linear(), and which ones. obstacles: why layers stay, by
    their id."""

    arguments: dict[str, Any]
    filter: Filter | None
    obstacles: dict[int, str]


@dataclass
class _Made:
    """New modules, the notes about layers, and their bits and groups, by the module's id."""

    modules: dict[int, torch.nn.Module] = field(default_factory=dict)
    notes: dict[int, str] = field(default_factory=dict)
    given: dict[int, tuple[int, int]] = field(default_factory=dict)
    by_weight: dict[tuple[int, int], QuantLinear] = field(default_factory=dict)
    counted: set[int] = field(default_factory=set)


def _places_of(model: torch.nn.Module, embeddings: bool) -> list[_Place]:
    """The linears of a model, and its embeddings that are wanted or tied to one of them."""
    found: dict[int, _Place] = {}
    for name, module in model.named_modules(remove_duplicate=False):
        if is_layer(module) and module is not model:
            owner, _, key = name.rpartition(".")
            place = found.setdefault(id(module), _Place(name, module, [], embeddings))
            place.owners.append((model.get_submodule(owner), key))
    heads = {id(_weight_of(p.module)) for p in found.values() if isinstance(p.module, torch.nn.Linear)}
    return [
        place
        for place in found.values()
        if embeddings or isinstance(place.module, torch.nn.Linear) or id(_weight_of(place.module)) in heads
    ]


def _mixtures_of(model: torch.nn.Module) -> list[_Mixture]:
    return [
        _Mixture(name, module, place_of(name, module))
        for name, module in model.named_modules()
        if name and _weights_of_experts(module)
    ]


def _weights_of_experts(module: torch.nn.Module) -> dict[str, Any]:
    """The parameters [E, N, K], or with K and N exchanged."""
    own = module.named_parameters(recurse=False)
    return {key: weight for key, weight in own if key.endswith("_proj") and weight.ndim == 3}


def _last_parameter(model: torch.nn.Module, places: list[_Place]) -> int | None:
    """The embedding that a model of Transformers keeps, so that its properties dtype and device find a
    parameter. None: it has others, as most models have norms, or needs none."""
    if not isinstance(getattr(type(model), "dtype", None), property):
        return None
    replaced = {id(p) for place in places if place.is_asked for p in place.module.parameters()}
    if not all(id(p) in replaced for p in model.parameters()):
        return None
    return next((id(p.module) for p in places if isinstance(p.module, torch.nn.Embedding)), None)


def _weight_of(module: Source) -> Any:
    """The parameter, not what a parametrisation makes of it at each look."""
    return module._parameters.get("weight")


def _make(place: _Place, places: list[_Place], wanted: _Wanted, made: _Made) -> None:
    """Make the module that replaces a place's, or note why there is none."""
    module, key = place.module, id(place.module)
    is_head = isinstance(module, torch.nn.Linear)
    if not is_head and not place.is_asked:
        reason: str | None = "it stays: embeddings=False"
    elif wanted.filter is not None and not wanted.filter(module, place.name):
        reason = "filter refuses it"
    else:
        reason = wanted.obstacles.get(key)
    if reason is None:
        arguments = dict(wanted.arguments)
        if _torchao.is_torchao(weight := _weight_of(module)):
            arguments.update(bits=_torchao.bits_of(weight), group=int(weight.block_size[1]))
    if reason is not None:
        made.notes[key] = reason
        return
    try:
        new = _tied(module, places, made) if not is_head else None
        if new is None:
            new = _quantised(module, arguments, made)
    except UnimplementedError as error:
        made.notes[key] = str(error)
        return
    except InvalidArgumentsError as error:
        raise InvalidArgumentsError(f"{place.name}: {error}; no layer was replaced") from None
    if not _torchao.is_torchao(weight) and (note := _note_of_scales(new, arguments)):
        made.notes.setdefault(key, note)
    made.modules[key] = new.train(module.training)
    k = _sizes(module)[0]
    made.given[key] = arguments["bits"], min(arguments["group"] or k, k)


def _make_experts(model: torch.nn.Module, mixture: _Mixture, wanted: _Wanted, made: _Made) -> None:
    """Make the module that replaces experts, or note why there is none."""
    module, key = mixture.module, id(mixture.module)
    if mixture.place is None:
        made.notes[key] = (
            "it stays: zemm knows experts behind the experts interface of Transformers, and those of Llama 4"
        )
        return
    if wanted.filter is not None and not wanted.filter(module, mixture.name):
        made.notes[key] = "filter refuses it"
        return
    if any(parameter.is_meta for parameter in module.parameters()):
        made.notes[key] = "it stays: experts on the device meta have no values"
        return
    try:
        new = quantised_experts(module, mixture.place, names_of(model, mixture.place), wanted.arguments)
    except UnimplementedError as error:
        made.notes[key] = str(error)
        return
    except InvalidArgumentsError as error:
        raise InvalidArgumentsError(f"{mixture.name}: {error}; no layer was replaced") from None
    made.modules[key] = new.train(module.training)


def _rows_of_experts(mixture: _Mixture, made: _Made, arguments: dict[str, Any]) -> list[QuantizedLayer]:
    """A row for each layer of all experts."""
    new: Any = made.modules.get(id(mixture.module))
    rows = []
    for key, weight in _weights_of_experts(mixture.module).items():
        count, n, k = weight.mT.shape if getattr(mixture.module, "is_transposed", True) else weight.shape
        bias = mixture.module._parameters.get(f"{key}_bias")
        before = after = weight.nbytes + (0 if bias is None else bias.nbytes)
        bits = group = None
        if new is not None:
            layer = (new.down if key == "down_proj" else new.up).layer
            after = layer.weights.nbytes + (0 if layer.bias is None else layer.bias.nbytes)
            bits, group = arguments["bits"], min(arguments["group"] or k, k)
        kind, note = f"{count} x {type(mixture.module).__name__}", made.notes.get(id(mixture.module), "")
        rows.append(QuantizedLayer(f"{mixture.name}.{key}", kind, k, n, bits, group, before, after, note))
    return rows


def _quantised(module: Source, arguments: dict[str, Any], made: _Made) -> torch.nn.Module:
    if isinstance(module, torch.nn.Embedding):
        return QuantEmbedding.from_embedding(module, **arguments)
    shared = (id(module.weight), id(module.bias))
    known = made.by_weight.get(shared)
    if known is not None and known.layer is not None:
        again = QuantLinear(known.layer)
        again.float_dtype = known.float_dtype
        return again
    new = made.by_weight[shared] = QuantLinear.from_linear(module, **arguments)
    return new


def _note_of_scales(new: Any, arguments: dict[str, Any]) -> str:
    """The remark on scales of another type than was asked for."""
    layer = (new.table if isinstance(new, QuantEmbedding) else new).layer
    if layer is None or layer.weights.scales is None:
        return ""
    wanted = dtype_name(arguments.get("scale_dtype", "f32"))
    have = layer.weights.scales.parameter.data_type
    return "" if wanted == have else f"{have} scales: {wanted} has too few digits for them"


def _tied(module: Source, places: list[_Place], made: _Made) -> QuantEmbedding | None:
    """The embedding that reads the weights of a head, if one has been made of the same weight."""
    for other in places:
        head = made.modules.get(id(other.module))
        if isinstance(head, QuantLinear) and _weight_of(other.module) is module.weight:
            made.notes[id(module)] = f"reads the weights of {other.name}"
            return QuantEmbedding.of(head, module.weight.dtype)
    return None


def _sizes(module: Source) -> tuple[int, int]:
    """K and N."""
    if isinstance(module, torch.nn.Linear):
        return module.in_features, module.out_features
    return module.embedding_dim, module.num_embeddings


def _untie(model: torch.nn.Module) -> None:
    """Have models of Transformers tie no float weights to zemm's modules later on. `_is_untied` tells that a
    model's config says something else."""
    for part in model.modules():
        tied = getattr(part, "all_tied_weights_keys", None)
        if isinstance(tied, dict):
            modules = dict(part.named_modules())
            left = {
                key: of
                for key, of in tied.items()
                if not any(isinstance(modules.get(name.rpartition(".")[0]), StandIn) for name in (key, of))
            }
            if len(left) < len(tied):
                part.all_tied_weights_keys = part._tied_weights_keys = left
                part._is_untied = True


def _row(place: _Place, made: _Made) -> QuantizedLayer:
    module, key = place.module, id(place.module)
    new = made.modules.get(key)
    before = [t for t in (_weight_of(module), module._parameters.get("bias")) if t is not None]
    before = [t for t in before if not torch.nn.parameter.is_lazy(t)]
    k, n = _sizes(module)
    nbytes = sum(_torchao.nbytes_of(t) for t in before if _is_first(t, made))
    note, after = made.notes.get(key, ""), nbytes
    if new is not None:
        table = new.table if isinstance(new, QuantEmbedding) else new
        layer = table.layer
        if layer is None:
            after, note = 0, note or "empty: load_state_dict() fills it"
        else:
            after = layer.weights.nbytes if _is_first(layer.weights, made) else 0
            after += layer.bias.nbytes if layer.bias is not None and _is_first(layer.bias, made) else 0
    bits, group = made.given.get(key, (None, None))
    return QuantizedLayer(place.name, type(module).__name__, k, n, bits, group, nbytes, after, note)


def _is_first(shared: Any, made: _Made) -> bool:
    """Whether bytes are counted for the first time."""
    is_new = id(shared) not in made.counted
    made.counted.add(id(shared))
    return is_new
