"""Writes tests/golden: tiny random checkpoints and the logits Hugging Face transformers gives.

    pip install torch transformers safetensors
    python tools/golden/make_golden.py [folder [prefix]]   prefix: checkpoints called so alone; the
                                                           others stay as they are

A checkpoint folder is what `save_pretrained` writes, with config.json. Cases vary the config over
one checkpoint (rotary scaling and sliding windows have no weights). cases.json lists them:
    name, checkpoint   which weights
    config             the config.json of the case, in the style the case wants to test
    context_length     what the server is started with; absent: the default
    tokens             the prompt
logits/<name>.safetensors holds `rows` (positions, i64) and `logits` [rows, vocab] float32, computed in
float32 from the stored weights; where the config is the checkpoint's own, also `layer_1_input` and
`last_hidden` [rows, hidden].

What there is: golden_checkpoints.py, golden_cases.py.
"""

import json
import pathlib
import shutil
import sys

import torch
import transformers
from safetensors.torch import load_file, save_file

from golden_cases import CASES
from golden_checkpoints import BLOCKS, CHECKPOINTS, SIZES, VOCAB

# The seed of a checkpoint or case is its place, but for these.
SEEDS = {"qwen3_5_moe": 35, "lfm2_moe": 36, "granite_hybrid_experts": 37,
         "qwen3_5_moe_default": 77, "lfm2_moe_default": 78, "granite_hybrid_experts_default": 79}


def auto_model(config):
    has_towers = hasattr(config, "text_config")
    return transformers.AutoModelForImageTextToText if has_towers else transformers.AutoModelForCausalLM


def text_model(model):
    """What answers to text: that of Llama 4 is a model of its own within the whole."""
    text = getattr(model, "language_model", None)
    return text if hasattr(text, "lm_head") else model


def make_checkpoint(folder, kind, settings, dtype, shard_size, seed):
    """Random weights; norms and biases too, so that a mix-up of two of them shows."""
    torch.manual_seed(seed)
    sizes = {} if "text_config" in settings else SIZES
    config = getattr(transformers, kind)(**{**sizes, **settings})
    model = auto_model(config).from_config(config, dtype=torch.float32)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(("norm.weight", "norm_1.weight", "norm_2.weight", "router.scale",
                              "per_expert_scale")):
                # The model itself does.
                adds_1 = config.model_type.startswith(("gemma2", "gemma3")) or (
                    config.model_type.startswith(("qwen3_next", "qwen3_5"))
                    and not name.endswith("linear_attn.norm.weight"))
                offset = 0.0 if adds_1 else 1.0
                parameter.copy_(offset + 0.2 * torch.randn_like(parameter))
                # Scores that nothing else scales: as small as in trained models.
                if config.model_type.startswith("gemma4") and name.endswith("q_norm.weight"):
                    parameter.mul_(0.4)
            elif name.endswith(("bias", "sinks", "mamba.D")):
                parameter.copy_(0.2 * torch.randn_like(parameter))
        for name, buffer in model.named_buffers():
            if name.endswith(("e_score_correction_bias", "expert_bias")):
                buffer.copy_(0.2 * torch.randn_like(buffer))
            elif name.endswith("layer_scalar"):
                buffer.copy_(0.6 + 0.3 * torch.rand_like(buffer))
    model.to(dtype).save_pretrained(folder, max_shard_size=shard_size)
    (folder / "generation_config.json").unlink(missing_ok=True)


E2M1 = torch.tensor([0, .5, 1, 1.5, 2, 3, 4, 6, 0, -.5, -1, -1.5, -2, -3, -4, -6])


def random_blocks(experts, rows, width):
    """Bytes [experts, rows, groups, 16], exponents, and what they stand for, [experts, width, rows]."""
    codes = torch.randint(0, 16, (experts, rows, width // 32, 32))
    exponents = torch.randint(122, 125, (experts, rows, width // 32))
    values = E2M1[codes] * torch.exp2(exponents.float() - 127)[..., None]
    packed = codes[..., 0::2] | codes[..., 1::2] << 4
    stacked = values.reshape(experts, rows, width).transpose(1, 2).contiguous()
    return packed.to(torch.uint8), exponents.to(torch.uint8), stacked


def make_block_checkpoint(folder, other):
    """Replaces the experts of a saved checkpoint by what blocks stand for, and saves both kinds."""
    torch.manual_seed(77)
    tensors = load_file(folder / "model.safetensors")
    blocks = dict(tensors)
    for name in [n for n in tensors if n.endswith(("experts.gate_up_proj", "experts.down_proj"))]:
        experts, width, rows = tensors[name].shape
        packed, exponents, values = random_blocks(experts, rows, width)
        tensors[name] = values.to(tensors[name].dtype)
        del blocks[name]
        blocks[name + "_blocks"], blocks[name + "_scales"] = packed, exponents
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    other.mkdir()
    save_file(blocks, other / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = dict(quant_method="mxfp4", modules_to_not_convert=[
        "model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"])
    (other / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def case_config(checkpoint, changes):
    """The config of a case as transformers' own object and as a dict to be written."""
    changes = dict(changes)
    rope = changes.pop("rope", None)
    written = json.loads((checkpoint / "config.json").read_text())
    written.update(changes)
    if "use_sliding_window" in changes and "layer_types" not in changes:
        written.pop("layer_types", None)  # derived by whoever reads the config
    if rope is not None:
        written["rope_parameters"] = {"rope_theta": 10000.0, **rope}
    kind = getattr(transformers, type(transformers.AutoConfig.from_pretrained(checkpoint)).__name__)
    return kind.from_dict(json.loads(json.dumps(written), object_hook=read_float)), written


def read_float(item):
    """What json has no number for is written as {"__float__": "Infinity"}."""
    return float(item["__float__"]) if "__float__" in item else item


def restyle(written, style):
    """Rewrites the rotary settings as older versions of transformers did."""
    if style == "new":
        return
    if style == "global":  # as on the hub: what is wider is said once
        text = written["text_config"]
        wide = next(iter(text.pop("per_layer_config").values()))
        text["global_head_dim"] = wide["head_dim"]
        text["num_global_key_value_heads"] = wide["num_key_value_heads"]
        return
    if style == "flat":
        text = written.pop("text_config")
        text["rope_scaling"] = dict(type="mrope", mrope_section=[4, 2, 2])
        text["rope_theta"] = text.pop("rope_parameters")["rope_theta"]
        written.update({k: v for k, v in text.items() if k not in ("model_type", *written)})
        return
    rope = {k: v for k, v in written.pop("rope_parameters").items() if v is not None}
    if "sliding_attention" in rope:
        written["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
        written["sliding_window_pattern"] = 3
        written.pop("layer_types")
        rope = rope["full_attention"]
    written["rope_theta"] = rope.pop("rope_theta")
    kind = rope.pop("rope_type", "default")
    written["rope_scaling"] = None
    if kind != "default":
        written["rope_scaling"] = {"rope_type" if style == "old" else "type": kind, **rope}
    written["torch_dtype"] = written.pop("dtype")


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "tests/golden")
    prefix = sys.argv[2] if len(sys.argv) > 2 else ""
    kept = []
    if prefix:
        kept = [case for case in json.loads((root / "cases.json").read_text())
                if not case["checkpoint"].startswith(prefix)]
    for old in ("checkpoints", "logits"):
        for path in (root / old).glob(prefix + "*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    (root / "logits").mkdir(parents=True, exist_ok=True)
    for place, (name, settings) in enumerate(CHECKPOINTS.items()):
        seed = SEEDS.get(name, place)
        if not name.startswith(prefix):
            continue
        make_checkpoint(root / "checkpoints" / name, *settings, seed=seed)
        if name in BLOCKS:
            make_block_checkpoint(root / "checkpoints" / name, root / "checkpoints" / BLOCKS[name])

    listed = kept
    for place, (name, checkpoint, changes, length, options) in enumerate(CASES):
        seed = SEEDS.get(name, place)
        if not checkpoint.startswith(prefix):
            continue
        folder = root / "checkpoints" / checkpoint
        config, written = case_config(folder, changes)
        model = auto_model(config).from_pretrained(
            folder, config=config, dtype=torch.float32, attn_implementation="eager").eval()
        torch.manual_seed(1000 + seed)
        tokens = torch.randint(0, VOCAB, (1, length))
        with torch.no_grad():
            output = text_model(model)(tokens, output_hidden_states=True)
        logits = output.logits[0].float()
        rows = torch.arange(length - 1, -1, -3).flip(0)  # every third, the last one among them
        known = {"rows": rows, "logits": logits[rows].contiguous()}
        if not changes:
            known["layer_1_input"] = output.hidden_states[1][0, rows].contiguous()
            known["last_hidden"] = output.hidden_states[-1][0, rows].contiguous()
        save_file(known, root / "logits" / f"{name}.safetensors")
        restyle(written, options.get("style", "new"))
        case = dict(name=name, checkpoint=checkpoint, config=written, tokens=tokens[0].tolist(),
                    **{k: v for k, v in options.items() if k == "context_length"})
        listed.append(case)
        if checkpoint in BLOCKS:
            blocks = json.loads((root / "checkpoints" / BLOCKS[checkpoint] / "config.json").read_text())
            case = dict(case, name=name.replace(checkpoint, BLOCKS[checkpoint]),
                        checkpoint=BLOCKS[checkpoint],
                        config=dict(written, quantization_config=blocks["quantization_config"]))
            shutil.copy(root / "logits" / f"{name}.safetensors",
                        root / "logits" / f"{case['name']}.safetensors")
            listed.append(case)
        print(f"{name:34} logits std {logits.std():.2f}, largest {logits.abs().max():.2f}")
    lines = ",\n".join(json.dumps(case) for case in listed)
    (root / "cases.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
