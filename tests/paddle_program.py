# SPDX-License-Identifier: Apache-2.0
"""paddle_program.py FOLDER: PaddlePaddle saves a model there and runs it over oneDNN. Prints the largest
difference from the model that was saved. Runs with the Python of an environment that has paddlepaddle.
"""

import sys

import numpy as np
import paddle
from paddle import inference, nn


class TwoLayers(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(64, 128)
        self.relu = nn.ReLU()
        self.second = nn.Linear(128, 10)

    def forward(self, x):  # type: ignore[no-untyped-def]  # its save reads this signature
        return self.second(self.relu(self.first(x)))


def main(folder: str) -> None:
    x = np.random.default_rng(0).standard_normal((8, 64)).astype(np.float32)
    paddle.seed(1)
    model = TwoLayers()
    model.eval()
    paddle.jit.save(model, f"{folder}/m", input_spec=[paddle.static.InputSpec([None, 64], "float32")])
    config = inference.Config(f"{folder}/m.json", f"{folder}/m.pdiparams")
    config.enable_onednn()
    config.disable_glog_info()
    predictor = inference.create_predictor(config)
    given = predictor.get_input_handle(predictor.get_input_names()[0])
    given.reshape(x.shape)
    given.copy_from_cpu(x)
    predictor.run()
    got = predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu()
    print("difference:", np.abs(got - model(paddle.to_tensor(x)).numpy()).max())


if __name__ == "__main__":
    main(sys.argv[1])
