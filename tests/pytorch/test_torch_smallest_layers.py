# SPDX-License-Identifier: Apache-2.0
"""The smallest layers in torch: modules by state dict, parts of exported programs, rows of embeddings."""

from typing import Any

import numpy as np
import pytest
import zemm
from support_small_layers import TYPES, expected, layers, weights_of
from support_torch import torch
from zemm.torch._parts import layer_of


@pytest.mark.parametrize("data_type", TYPES)
def test_same_weights(data_type: Any) -> None:
    for layer in layers(data_type, (4, 16), (1, 2, 4)):
        want = expected(layer).astype(np.float32)
        module = zemm.torch.QuantLinear(layer)
        empty = zemm.torch.QuantLinear(layer.in_features, layer.out_features)
        empty.load_state_dict(module.state_dict())
        parts = [part.clone() for part in module._tensors()]
        for made in (empty.layer, layer_of(parts).layer):
            assert np.array_equal(weights_of(made), weights_of(layer))
        table = zemm.torch.QuantEmbedding.of(module)
        for count in {1, 2, layer.out_features}:
            ids = torch.arange(count) % layer.out_features
            assert np.allclose(table(ids).numpy(), want.T[ids.numpy()], rtol=1e-6)
