"""Writes trained heads as checkpoints: folders beside the target's, named after it (demo-draft, demo-eagle, ...).

usage: python -m heads.export --target ../../models/demo --draft-vocab FILE --state FILE [--heads draft eagle eagle3 mtp]
"""
import argparse
import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import save_file

from .draft import write_description
from .target import Target
from .train import KINDS, make_heads

FOLDERS = {"draft": "draft", "eagle": "eagle", "eagle3": "eagle3", "mtp": "mimo"}


def stored(tensors: dict) -> dict:
    return {n: t.detach().to(torch.bfloat16).contiguous().clone() for n, t in tensors.items()}


def write_config(folder: Path, config: dict):
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def export_draft(model, target: Target, source: Path, folder: Path):
    write_description(source, folder)
    save_file(stored(model.state_dict()), folder / "model.safetensors", metadata={"format": "pt"})


def head_config(target: Target, architecture: str, **more) -> dict:
    """The target's sizes with one layer."""
    return {**target.hf_config, "architectures": [architecture], "num_hidden_layers": 1, **more}


def export_eagle(head, target: Target, source: Path, folder: Path):
    """As EAGLE's own checkpoints are: a PyTorch file. Embedding and output matrix are the target's."""
    write_config(folder, head_config(target, "LlamaForCausalLMEagle", tie_word_embeddings=False))
    torch.save(stored(head.state_dict()), folder / "pytorch_model.bin")


def export_eagle3(head, target: Target, source: Path, folder: Path):
    ids, vocab = head.draft_ids, target.config.vocab_size
    write_config(folder, head_config(
        target, "LlamaForCausalLMEagle3", tie_word_embeddings=False, draft_vocab_size=len(ids),
        eagle_config={"eagle_aux_hidden_state_layer_ids": list(target.taps), "use_aux_hidden_state": True}))
    used = torch.zeros(vocab, dtype=torch.bool)
    used[ids] = True
    tensors = {**stored(head.state_dict()), "d2t": ids - torch.arange(len(ids)), "t2d": used}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def export_mtp(head, target: Target, source: Path, folder: Path):
    """The target in MiMo's format, which has biases at q, k and v (zeros here), with its MTP layer."""
    c = target.config
    write_config(folder, {**target.hf_config, "architectures": ["MiMoForCausalLM"], "model_type": "mimo", "attention_bias": True,
                          "num_nextn_predict_layers": 1, "sliding_window": None, "use_sliding_window": False, "use_mrope": False,
                          "max_window_layers": c.num_hidden_layers})
    for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        shutil.copy(source / name, folder / name)
    tensors = dict(target.weights)
    for layer in range(c.num_hidden_layers):
        for part, heads in (("q", c.num_attention_heads), ("k", c.num_key_value_heads), ("v", c.num_key_value_heads)):
            tensors[f"model.layers.{layer}.self_attn.{part}_proj.bias"] = torch.zeros(heads * c.head_dim, dtype=torch.bfloat16)
    for name, tensor in stored(head.state_dict()).items():
        tensors["model.mtp_layers.0." + name.removeprefix("block.")] = tensor
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


EXPORTS = {"draft": export_draft, "eagle": export_eagle, "eagle3": export_eagle3, "mtp": export_mtp}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--heads", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--draft-vocab", type=Path, help="as given to heads.train")
    args = parser.parse_args()
    target = Target(args.target)
    heads = make_heads(target, args.heads, args.draft_vocab)
    saved = torch.load(args.state)["params"]
    for kind, head in heads.items():
        weights = {n.removeprefix(kind + "."): w for n, w in saved.items() if n.startswith(kind + ".")}
        head.load_state_dict(weights)
        folder = args.target.with_name(f"{args.target.name}-{FOLDERS[kind]}")
        folder.mkdir(exist_ok=True)
        EXPORTS[kind](head, target, args.target, folder)
        print(folder, sum(p.numel() for p in head.parameters()), "parameters trained")


if __name__ == "__main__":
    main()
