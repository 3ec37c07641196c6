"""Writes a training checkpoint as a Hugging Face checkpoint: model.safetensors in bf16 beside the configs.

usage: export.py --model DIR [--state FILE]   (without --state only config.json and generation_config.json are written)
"""
import argparse
import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer

from model import Config


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="folder of the checkpoint, with tokenizer.json")
    parser.add_argument("--state", type=Path, help="checkpoint file of train.py")
    args = parser.parse_args()
    tokenizer = Tokenizer.from_file(str(args.model / "tokenizer.json"))
    bos, eos, pad = (tokenizer.token_to_id(t) for t in ("<|bos|>", "<|end|>", "<|pad|>"))
    config = Config(vocab_size=tokenizer.get_vocab_size())
    generation = {"bos_token_id": bos, "eos_token_id": eos, "pad_token_id": pad, "do_sample": False}
    for name, content in (("config.json", config.to_hf(bos, eos, pad)), ("generation_config.json", generation)):
        (args.model / name).write_text(json.dumps(content, indent=2) + "\n")
    if args.state:
        params = torch.load(args.state)["params"]
        part = args.model / "model.safetensors.part"
        save_file({n: p.to(torch.bfloat16).contiguous().clone() for n, p in params.items()}, part, metadata={"format": "pt"})
        part.rename(args.model / "model.safetensors")
        print(f"{sum(p.numel() for p in params.values())} parameters")


if __name__ == "__main__":
    main()
