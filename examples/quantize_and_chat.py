# SPDX-License-Identifier: Apache-2.0
"""Quantise a model of Transformers to 4 bits, save it, load it and talk to it; an empty line ends the chat.

python examples/quantize_and_chat.py FOLDER_OR_NAME_OF_A_CHAT_MODEL NEW_FOLDER
"""

import sys

import zemm.transformers
from transformers import AutoModelForCausalLM, AutoTokenizer, TextStreamer, pipeline

source, folder = sys.argv[1:]
model = AutoModelForCausalLM.from_pretrained(source)
print(zemm.torch.quantize_(model, bits=4, group=32))  # with a progress bar
model.save_pretrained(folder)
AutoTokenizer.from_pretrained(source).save_pretrained(folder)

zemm.transformers.register(activation="int8")
answer, chat = pipeline("text-generation", folder), []
streamer = TextStreamer(answer.tokenizer, skip_prompt=True, skip_special_tokens=True)  # prints word by word
while line := input("> "):
    chat.append({"role": "user", "content": line})
    chat = answer(chat, max_new_tokens=256, streamer=streamer)[0]["generated_text"]
