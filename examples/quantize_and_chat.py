# SPDX-License-Identifier: Apache-2.0
"""Quantise a model of Transformers to 4 bits, save it, load it and talk to it; an empty line ends the chat.

python examples/quantize_and_chat.py FOLDER_OR_NAME_OF_A_CHAT_MODEL NEW_FOLDER
"""

import sys

import zemm.transformers
from transformers import AutoModelForCausalLM, AutoTokenizer, TextStreamer

source, folder = sys.argv[1:]
tokenizer, model = AutoTokenizer.from_pretrained(source), AutoModelForCausalLM.from_pretrained(source)
print(zemm.torch.quantize_(model, bits=4, group=32))  # with a progress bar
model.save_pretrained(folder)
tokenizer.save_pretrained(folder)

zemm.transformers.register(activation="int8")
model = AutoModelForCausalLM.from_pretrained(folder)
zemm.warm_up(model)
chat = []
while line := input("> "):
    chat.append({"role": "user", "content": line})
    ids = tokenizer.apply_chat_template(
        chat, add_generation_prompt=True, return_dict=True, return_tensors="pt"
    )
    streamer = TextStreamer(tokenizer, skip_prompt=True, skip_special_tokens=True)  # prints word by word
    tokens = model.generate(**ids, max_new_tokens=256, streamer=streamer)[0, ids["input_ids"].shape[1] :]
    chat.append({"role": "assistant", "content": tokenizer.decode(tokens, skip_special_tokens=True)})
