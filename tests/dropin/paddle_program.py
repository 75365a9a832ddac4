# SPDX-License-Identifier: Apache-2.0
"""paddle_program.py FOLDER [tensor | columns | softmax [fc]]: PaddlePaddle saves a model there and runs it
over oneDNN. Its result becomes y.npy. Prints the largest difference from the model that was saved. Runs with
the Python of an environment that has paddlepaddle.

tensor, columns: in int8, with one scale of all weights of a layer or one for each column. Paddle's passes for
that know the programs of before PIR only: FLAGS_enable_pir_api=0 in the environment.

softmax: the model ends with it. fc: oneDNN computes linear layers only, which also needs such a program.
"""

import sys
from typing import Any

import numpy as np
import paddle
from paddle import inference, nn
from paddle.quantization import PTQ, QuantConfig
from paddle.quantization.observers import AbsmaxObserver


class TwoLayers(nn.Layer):
    def __init__(self, has_softmax: bool) -> None:
        super().__init__()
        self.softmax = nn.Softmax() if has_softmax else None
        self.first = nn.Linear(64, 128)
        self.relu = nn.ReLU()
        self.second = nn.Linear(128, 10)

    def forward(self, x):  # type: ignore[no-untyped-def]  # its save reads this signature
        y = self.second(self.relu(self.first(x)))
        return y if self.softmax is None else self.softmax(y)


def with_scales(model: Any, x: Any, weights: str) -> Any:
    """The model with the scales of its layers' inputs and, for "tensor", one of each layer's weights: where
    these have none, Paddle finds one for each column."""
    observer = AbsmaxObserver(quant_bits=8)
    ptq = PTQ(QuantConfig(activation=observer, weight=observer))
    observed = ptq.quantize(model)
    observed(x)
    made = ptq.convert(observed, remain_weight=True)
    if weights == "columns":
        made.first.weight_quanter = made.second.weight_quanter = None
    return made


def predictor_of(folder: str, in_int8: bool, operators: set[str]) -> Any:
    program = "m.pdmodel" if in_int8 or operators else "m.json"
    config = inference.Config(f"{folder}/{program}", f"{folder}/m.pdiparams")
    config.enable_onednn()
    if in_int8:
        config.enable_onednn_int8()
    if operators:
        config.set_onednn_op(operators)
    config.disable_glog_info()
    return inference.create_predictor(config)


def main(folder: str, kind: str = "", *operators: str) -> None:
    weights = kind if kind in ("tensor", "columns") else ""
    x = np.random.default_rng(0).standard_normal((8, 64)).astype(np.float32)
    paddle.seed(1)
    model = TwoLayers(kind == "softmax")
    model.eval()
    saved = with_scales(model, paddle.to_tensor(x), weights) if weights else model
    paddle.jit.save(saved, f"{folder}/m", input_spec=[paddle.static.InputSpec([None, 64], "float32")])
    predictor = predictor_of(folder, bool(weights), set(operators))
    given = predictor.get_input_handle(predictor.get_input_names()[0])
    given.reshape(x.shape)
    given.copy_from_cpu(x)
    predictor.run()
    got = predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu()
    np.save(f"{folder}/y.npy", got)
    print("difference:", np.abs(got - model(paddle.to_tensor(x)).numpy()).max())


if __name__ == "__main__":
    main(*sys.argv[1:])
