"""Writes tests/golden: tiny random checkpoints and the logits Hugging Face transformers gives.

    pip install torch transformers safetensors
    python tools/golden/make_golden.py [folder]

A checkpoint folder is what `save_pretrained` writes, with config.json. Cases vary the config over
one checkpoint (rotary scaling and sliding windows have no weights). cases.json lists them:
    name, checkpoint   which weights
    config             the config.json of the case, in the style the case wants to test
    context_length     what the server is started with; absent: the default
    tokens             the prompt
logits/<name>.safetensors holds `rows` (positions, i64) and `logits` [rows, vocab] float32, computed in
float32 from the stored weights; where the config is the checkpoint's own, also `layer_1_input` and
`last_hidden` [rows, hidden].
"""

import json
import pathlib
import shutil
import sys

import torch
import transformers
from safetensors.torch import save_file

VOCAB = 64
SIZES = dict(vocab_size=VOCAB, hidden_size=64, intermediate_size=80, num_hidden_layers=2,
             num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128,
             bos_token_id=1, eos_token_id=2, initializer_range=0.15)
TRAINED = 32  # original length of the scaled variants: 96 tokens go well beyond it

# name: (config class, settings, stored dtype, size limit of a shard)
CHECKPOINTS = {
    "llama": ("LlamaConfig", dict(head_dim=16), torch.bfloat16, "1GB"),
    "llama_bias_tied": ("LlamaConfig",
                        dict(head_dim=32, num_key_value_heads=4, attention_bias=True, mlp_bias=True,
                             tie_word_embeddings=True, rms_norm_eps=1e-5), torch.float32, "100KB"),
    "mistral": ("MistralConfig", dict(sliding_window=None), torch.float16, "1GB"),
    "qwen2": ("Qwen2Config", dict(tie_word_embeddings=True, num_key_value_heads=1), torch.bfloat16,
              "60KB"),
    "qwen3": ("Qwen3Config", dict(head_dim=32, rope_parameters=dict(rope_type="default",
                                                                    rope_theta=1e6)),
              torch.bfloat16, "1GB"),
    # Four layers: rotated and not, with a window and without.
    "smollm3": ("SmolLM3Config",
                dict(num_hidden_layers=4, no_rope_layer_interval=2, pad_token_id=0), torch.bfloat16,
                "1GB"),
    "granite": ("GraniteConfig",
                dict(embedding_multiplier=12.0, residual_multiplier=0.22, attention_multiplier=0.1,
                     logits_scaling=8.0, tie_word_embeddings=True), torch.bfloat16, "1GB"),
    "gemma2": ("Gemma2Config",
               dict(num_hidden_layers=3, head_dim=32, query_pre_attn_scalar=24, sliding_window=8,
                    attn_logit_softcapping=5.0, final_logit_softcapping=3.0, pad_token_id=0),
               torch.bfloat16, "1GB"),
    "phi3": ("Phi3Config", dict(pad_token_id=0), torch.bfloat16, "1GB"),
}

HALF = 8  # pairs of a head of 16
SHORT = [1.0 + 0.05 * i for i in range(HALF)]
LONG = [1.0 + 0.6 * i for i in range(HALF)]

# (name, checkpoint, changes to its config, prompt length, options). "old": rope_scaling beside
# rope_theta; "type": the same with the oldest key name.
CASES = [
    ("llama_default", "llama", {}, 40, {}),
    ("llama_theta_old_style", "llama", dict(rope=dict(rope_theta=500000.0)), 40, dict(style="old")),
    ("llama_linear", "llama", dict(rope=dict(rope_type="linear", factor=4.0)), 96, {}),
    ("llama_linear_old_type", "llama", dict(rope=dict(rope_type="linear", factor=2.5)), 96,
     dict(style="type")),
    ("llama_dynamic_within", "llama",
     dict(max_position_embeddings=TRAINED, rope=dict(rope_type="dynamic", factor=4.0)), TRAINED, {}),
    ("llama_dynamic_beyond", "llama",
     dict(max_position_embeddings=TRAINED, rope=dict(rope_type="dynamic", factor=4.0)), 96,
     dict(context_length=96)),
    ("llama_dynamic_old_type", "llama",
     dict(max_position_embeddings=TRAINED, rope=dict(rope_type="dynamic", factor=3.0)), 80,
     dict(context_length=80, style="type")),
    ("llama_llama3", "llama",
     dict(rope=dict(rope_type="llama3", rope_theta=500000.0, factor=8.0, low_freq_factor=1.0,
                    high_freq_factor=4.0, original_max_position_embeddings=TRAINED)), 96, {}),
    ("llama_llama3_old", "llama",
     dict(rope=dict(rope_type="llama3", rope_theta=10000.0, factor=32.0, low_freq_factor=1.0,
                    high_freq_factor=4.0, original_max_position_embeddings=64)), 96,
     dict(style="old")),
    ("llama_yarn", "llama",
     dict(rope=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=TRAINED)), 96, {}),
    ("llama_yarn_attention_factor", "llama",
     dict(rope=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=TRAINED,
                    attention_factor=0.8, beta_fast=16.0, beta_slow=2.0)), 96, dict(style="old")),
    ("llama_yarn_mscale", "llama",
     dict(rope=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=TRAINED,
                    mscale=0.7, mscale_all_dim=1.2)), 96, {}),
    ("llama_yarn_untruncated", "llama",
     dict(rope=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=TRAINED,
                    truncate=False)), 96, {}),
    ("llama_longrope_short", "llama",
     dict(rope=dict(rope_type="longrope", short_factor=SHORT, long_factor=LONG,
                    original_max_position_embeddings=TRAINED, factor=None)), 30,
     dict(context_length=TRAINED)),
    ("llama_longrope_long", "llama",
     dict(rope=dict(rope_type="longrope", short_factor=SHORT, long_factor=LONG,
                    original_max_position_embeddings=TRAINED, factor=None)), 96, {}),
    ("llama_longrope_attention_factor", "llama",
     dict(rope=dict(rope_type="longrope", short_factor=SHORT, long_factor=LONG, factor=4.0,
                    original_max_position_embeddings=TRAINED, attention_factor=1.3)), 96,
     dict(style="old")),
    ("llama_bias_tied_default", "llama_bias_tied", {}, 40, {}),
    ("llama_bias_tied_llama3", "llama_bias_tied",
     dict(rope=dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                    original_max_position_embeddings=TRAINED)), 96, dict(style="old")),
    ("mistral_default", "mistral", {}, 40, {}),
    ("mistral_window", "mistral", dict(sliding_window=8), 60, {}),
    ("mistral_yarn", "mistral",
     dict(rope=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=TRAINED)), 96,
     dict(style="type")),
    ("qwen2_default", "qwen2", {}, 40, {}),
    ("qwen2_window", "qwen2",
     dict(use_sliding_window=True, sliding_window=8, max_window_layers=1), 60, {}),
    ("qwen2_window_off", "qwen2",
     dict(use_sliding_window=False, sliding_window=8, max_window_layers=1), 60, {}),
    ("qwen2_yarn", "qwen2",
     dict(rope=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=TRAINED)), 96,
     dict(style="old")),
    ("qwen3_default", "qwen3", {}, 40, {}),
    ("qwen3_window_layer_types", "qwen3",
     dict(use_sliding_window=True, sliding_window=8,
          layer_types=["sliding_attention", "full_attention"]), 60, {}),
    ("qwen3_yarn", "qwen3",
     dict(rope=dict(rope_type="yarn", factor=4.0, rope_theta=1e6,
                    original_max_position_embeddings=TRAINED)), 96, {}),
    ("smollm3_default", "smollm3", {}, 40, {}),
    ("smollm3_layers_listed", "smollm3",
     dict(no_rope_layers=[0, 1, 1, 0], use_sliding_window=True, sliding_window=8,
          layer_types=["full_attention", "sliding_attention", "full_attention",
                       "sliding_attention"]), 60, {}),
    ("granite_default", "granite", {}, 40, {}),
    ("gemma2_default", "gemma2", {}, 60, {}),
    ("gemma2_uncapped", "gemma2",
     dict(attn_logit_softcapping=None, final_logit_softcapping=None, hidden_activation="gelu"), 40,
     {}),
    ("phi3_default", "phi3", {}, 40, {}),
    ("phi3_partial_rotary", "phi3",
     dict(sliding_window=24, rope=dict(rope_type="default", partial_rotary_factor=0.5)), 60, {}),
]


def make_checkpoint(folder, kind, settings, dtype, shard_size, seed):
    """Random weights; norms and biases too, so that a mix-up of two of them shows."""
    torch.manual_seed(seed)
    config = getattr(transformers, kind)(**{**SIZES, **settings})
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("norm.weight"):
                offset = 0.0 if config.model_type == "gemma2" else 1.0  # the model adds 1
                parameter.copy_(offset + 0.2 * torch.randn_like(parameter))
            elif name.endswith("bias"):
                parameter.copy_(0.2 * torch.randn_like(parameter))
    model.to(dtype).save_pretrained(folder, max_shard_size=shard_size)
    (folder / "generation_config.json").unlink(missing_ok=True)


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
    return kind.from_dict(json.loads(json.dumps(written))), written


def restyle(written, style):
    """Rewrites the rotary settings as older versions of transformers did."""
    if style == "new":
        return
    rope = {k: v for k, v in written.pop("rope_parameters").items() if v is not None}
    written["rope_theta"] = rope.pop("rope_theta")
    kind = rope.pop("rope_type", "default")
    written["rope_scaling"] = None
    if kind != "default":
        written["rope_scaling"] = {"rope_type" if style == "old" else "type": kind, **rope}
    written["torch_dtype"] = written.pop("dtype")


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "tests/golden")
    for old in ("checkpoints", "logits"):
        shutil.rmtree(root / old, ignore_errors=True)
    (root / "logits").mkdir(parents=True)
    for seed, (name, settings) in enumerate(CHECKPOINTS.items()):
        make_checkpoint(root / "checkpoints" / name, *settings, seed=seed)

    listed = []
    for seed, (name, checkpoint, changes, length, options) in enumerate(CASES):
        folder = root / "checkpoints" / checkpoint
        config, written = case_config(folder, changes)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            folder, config=config, dtype=torch.float32, attn_implementation="eager").eval()
        torch.manual_seed(1000 + seed)
        tokens = torch.randint(0, VOCAB, (1, length))
        with torch.no_grad():
            output = model(tokens, output_hidden_states=True)
        logits = output.logits[0].float()
        rows = torch.arange(length - 1, -1, -3).flip(0)  # every third, the last one among them
        known = {"rows": rows, "logits": logits[rows].contiguous()}
        if not changes:
            known["layer_1_input"] = output.hidden_states[1][0, rows].contiguous()
            known["last_hidden"] = output.hidden_states[-1][0, rows].contiguous()
        save_file(known, root / "logits" / f"{name}.safetensors")
        restyle(written, options.get("style", "new"))
        listed.append(dict(name=name, checkpoint=checkpoint, config=written,
                           tokens=tokens[0].tolist(),
                           **{k: v for k, v in options.items() if k == "context_length"}))
        print(f"{name:34} logits std {logits.std():.2f}, largest {logits.abs().max():.2f}")
    lines = ",\n".join(json.dumps(case) for case in listed)
    (root / "cases.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
