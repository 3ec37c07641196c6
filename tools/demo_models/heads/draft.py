"""The STANDALONE draft: a language model of 1.8 M parameters with the target's tokenizer. Run as a script, this writes its
config, so that train.py can teach it the language before heads/train.py teaches it the target's own words.

usage: python -m heads.draft --target ../../models/demo --out ../../models/demo-draft
"""
import argparse
import json
import shutil
from pathlib import Path

import torch

from model import Config, Llama


def draft_config(c: Config) -> Config:
    """Half of the parameters are the embedding, which is also the output matrix."""
    return Config(vocab_size=c.vocab_size, hidden_size=128, intermediate_size=384, num_hidden_layers=4, num_attention_heads=4,
                  num_key_value_heads=2, head_dim=32, max_position_embeddings=c.max_position_embeddings,
                  rms_norm_eps=c.rms_norm_eps, rope_theta=c.rope_theta)


def make_draft(target, start: Path | None = None) -> Llama:
    """Starts from a state of train.py; without one, its embedding starts as the principal components of the target's."""
    model = Llama(draft_config(target.config))
    if start:
        model.load_state_dict(torch.load(start)["params"])
        return model
    size = model.config.hidden_size
    with torch.no_grad():
        u, s, _ = torch.linalg.svd(target.embedding.float(), full_matrices=False)
        model.model.embed_tokens.weight.copy_(u[:, :size] * s[:size])
    return model


def write_description(target_folder: Path, folder: Path):
    """Everything of the checkpoint but its weights."""
    target = json.load(open(target_folder / "config.json"))
    config = draft_config(Config.from_file(target_folder / "config.json"))
    folder.mkdir(parents=True, exist_ok=True)
    ids = (target[f"{name}_token_id"] for name in ("bos", "eos", "pad"))
    (folder / "config.json").write_text(json.dumps(config.to_hf(*ids), indent=2) + "\n")
    for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        shutil.copy(target_folder / name, folder / name)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    write_description(args.target, args.out)


if __name__ == "__main__":
    main()
