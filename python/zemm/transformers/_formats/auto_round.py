# SPDX-License-Identifier: Apache-2.0
"""AutoRound: a config of its own for tensors in the layout of GPTQ or AWQ."""

import re
from collections.abc import Mapping
from typing import Any

from zemm.errors import InvalidArgumentsError
from zemm.transformers._formats.awq import Awq
from zemm.transformers._formats.entries import CONFIG, entry, group_setting, objects, setting
from zemm.transformers._formats.format import Format
from zemm.transformers._formats.gptq import Gptq

# The packing_format, and the layout and version that it stands for.
_PACKINGS: dict[str, tuple[type[Format], str]] = {
    "auto_round:auto_gptq": (Gptq, "gptq"),
    "auto_round:gptq": (Gptq, "gptq"),
    "auto_round": (Gptq, "gptq_v2"),
    "auto_round:gptqmodel": (Gptq, "gptq_v2"),
    "auto_round:auto_awq": (Awq, "gemm"),
    "auto_round:awq": (Awq, "gemm"),
}


def auto_round(config: Mapping[str, Any]) -> Format:
    """extra_config has the layers with other settings, by names or regular expressions."""
    packing = setting(config, "packing_format", tuple(_PACKINGS), "auto_round:auto_gptq", "AutoRound")
    setting(config, "data_type", ("int",), "int", "AutoRound")
    if entry(config, "act_bits", int, 16) < 16:
        raise InvalidArgumentsError(
            f"the quantization_config has act_bits {config['act_bits']}: zemm reads AutoRound with"
            " activations of 16 bits or more"
        )
    layout, version = _PACKINGS[packing]
    dynamic = {}
    for name, settings in objects(config, "extra_config").items():
        pattern = name if re.search(r"[*+^$\\()|]", name) else f"{re.escape(name)}$"
        where = f"{name!r} of extra_config of {CONFIG}"
        bits = entry(settings, "bits", int, 0, where)
        group_setting(settings, where=where)
        dynamic["-:" * (bits >= 16) + pattern] = settings if bits < 16 else {}
    own = {"bits", "group_size", "modules_to_not_convert"}
    settings = {name: value for name, value in config.items() if name in own}
    return layout({**settings, "format": version, "dynamic": dynamic, "provider": "auto-round"})
