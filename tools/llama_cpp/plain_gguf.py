#!/usr/bin/env python3
"""Converts a checkpoint without a tokenizer by llama.cpp's own converter, in float32. Tokens get made-up names.

    plain_gguf.py LLAMA_CPP CHECKPOINT OUT.gguf

Runs in a process of its own: the converter has its own version of the package gguf.
"""
import pathlib
import sys

sys.path[:0] = [sys.argv[1], f"{sys.argv[1]}/gguf-py"]

import gguf  # noqa: E402
import torch  # noqa: E402
from conversion import ModelBase, ModelType, get_model_architecture, get_model_class  # noqa: E402

FIRST = 0x21  # of printable characters


def plain_vocabulary(model):
    names = [chr(FIRST + token) for token in range(model.hparams["vocab_size"])]
    names[:3] = ["<unk>", "<|endoftext|>", "</s>"]  # which llama.cpp looks up for some families
    writer = model.gguf_writer
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(names)
    writer.add_token_types([gguf.TokenType.NORMAL] * len(names))
    writer.add_token_merges([f"{names[3]} {names[4]}"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(False)


def main():
    folder, out = pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    config = ModelBase.load_hparams(folder, False)
    kind = get_model_class(get_model_architecture(config, ModelType.TEXT))
    kind.set_vocab, kind.no_mtp = plain_vocabulary, True
    with torch.inference_mode():
        kind(folder, gguf.LlamaFileType.ALL_F32, out).write()


if __name__ == "__main__":
    main()
