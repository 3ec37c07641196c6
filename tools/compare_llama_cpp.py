#!/usr/bin/env python3
"""Log-probabilities beside llama.cpp's, of a small model of each family that both read from one GGUF file.

    tools/compare_llama_cpp.py [--llama-cpp FOLDER] [--build FOLDER] [--program FILE] [family ..]

--llama-cpp ($FORETOKEN_LLAMA_CPP) names llama.cpp's sources with its converter; --build (its build) has bin/llama-server. Needs torch and
transformers.
Checkpoints are those of tests/golden; where llama.cpp lacks a shape they are made anew. llama.cpp's converter writes the file, in float32.
llama-server continues a prompt greedily. foretoken reads the same tokens, in float32. Compared are the log-probabilities of all tokens of the
vocabulary behind each token of the continuation. Prints the greatest difference of each family. The exit code is 1 where one is above its
limit, and 77 without llama.cpp.
"""
import argparse
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from replicas import Process, free_port, is_up
from train_head.recipe.server import post

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHECKPOINTS = ROOT / "tests/golden/checkpoints"
SKIPPED = 77
VOCAB, PROMPT, ANSWER = 64, 40, 64
SECTIONS = dict(rope_type="default", rope_theta=1e4, partial_rotary_factor=0.5, mrope_interleaved=True, mrope_section=[3, 3, 2])
QWEN35 = dict(linear_value_head_dim=16, head_dim=32, attention_bias=False, rope_parameters=SECTIONS)  # its states are square
NO_EPS = dict(rms_norm_eps=0.0)  # llama.cpp reads none from files of Qwen2-VL
OWN_OUTPUT = dict(tie_word_embeddings=False)
# llama.cpp rounds where yarn's ramp of wavelengths ends, which gpt-oss does not. Of a head of 16 it ends near pair 2 with this theta.
TRAINED = 32
RAMP = dict(rope_type="yarn", rope_theta=math.exp(16 * math.log(TRAINED / (2 * math.pi)) / (2 * (2 - 1e-6))), factor=4.0, beta_fast=32.0,
            beta_slow=1.0, truncate=False, original_max_position_embeddings=TRAINED)
# By golden checkpoint: what is changed so that llama.cpp has the shape. {}: nothing.
FAMILIES = {
    "llama": {}, "llama_bias_tied": {}, "mistral": {}, "qwen2": {}, "qwen3": {}, "smollm3": {}, "granite": {}, "gemma2": {}, "gemma3": {},
    "gemma4": dict(num_kv_shared_layers=2, final_logit_softcapping=30.0),
    "gemma4_experts": dict(attention_bias=False, final_logit_softcapping=30.0),
    "llama4": dict(attention_chunk_size=8192, no_rope_layer_interval=4, floor_scale=8192, attn_scale=0.1),
    "qwen2_vl": NO_EPS, "qwen2_5_vl": NO_EPS,
    "qwen3_vl": dict(attention_bias=False, rope_parameters=dict(rope_type="default", rope_theta=5e5, mrope_interleaved=True, mrope_section=[6, 5, 5])),
    "seed_oss": dict(mlp_bias=False, attention_out_bias=False), "ernie4_5": {}, "exaone4": dict(sliding_window=None, layer_types=["full_attention"] * 4, head_dim=16),
    "hunyuan_dense": dict(attention_bias=False),
    "cohere": {}, "cohere2": dict(attention_bias=False, layer_types=None, num_hidden_layers=5, rotary_pct=1.0),
    "phi3": {}, "olmo2": {}, "olmo3": OWN_OUTPUT, "glm4": {}, "mixtral": {}, "qwen2_moe": dict(mlp_only_layers=[]), "qwen3_moe": {},
    "olmoe": dict(OWN_OUTPUT, num_key_value_heads=4), "glm4_moe": {}, "gpt_oss": dict(rope_parameters=RAMP),
    "deepseek_v2_experts": dict(q_lora_rank=32), "deepseek_v3": {}, "deepseek_v3_experts": {}, "glm4_moe_lite_sparse": {},
    "qwen3_next": dict(linear_value_head_dim=16), "qwen3_5": QWEN35, "qwen3_5_moe": QWEN35, "lfm2": {}, "lfm2_moe": {},
    "granite_hybrid": dict(shared_intermediate_size=80), "granite_hybrid_groups": dict(shared_intermediate_size=80),
    "granite_hybrid_experts": {},
}
SIGMOID = dict(scoring_func="sigmoid")
# What the hub's config.json says and that of transformers does not, or in other words.
SAID = {
    "deepseek_v3": SIGMOID, "deepseek_v3_experts": SIGMOID, "glm4_moe_lite_sparse": SIGMOID,
    "granite_hybrid": dict(layer_types=["mamba", "mamba", "attention", "mamba"]),
    "granite_hybrid_groups": dict(layer_types=["mamba", "attention", "mamba"]),
    "granite_hybrid_experts": dict(layer_types=["mamba", "attention", "mamba"]),
}
LIMIT = 3e-4
# llama.cpp's gelu is a table of fp16.
LIMITS = {family: 2e-2 for family in ("gemma2", "gemma3", "gemma4", "gemma4_experts")}


def checkpoint_of(family, changes, folder):
    """A folder with the family's weights, and as much of a tokenizer as the converter looks for."""
    made = folder / "checkpoint"
    if changes:
        import torch  # is slow to import
        sys.path.append(str(ROOT / "tools/golden"))
        from golden_checkpoints import CHECKPOINTS as known
        from make_golden import make_checkpoint
        kind, settings, _, _ = known[family]
        text = settings.get("text_config")
        changed = {**settings, **changes} if text is None else {**settings, "text_config": {**text, **changes}}
        make_checkpoint(made, kind, changed, torch.float32, "1GB", 1)
    else:
        shutil.copytree(CHECKPOINTS / family, made)
    config = json.loads((made / "config.json").read_text())
    (made / "config.json").write_text(json.dumps({**config, **SAID.get(family, {})}))
    vocabulary = {str(token): token for token in range(VOCAB)}
    (made / "tokenizer.json").write_text(json.dumps({"model": {"vocab": vocabulary}, "added_tokens": []}))
    return made


def convert(args, checkpoint, file):
    command = [sys.executable, ROOT / "tools/llama_cpp/plain_gguf.py", args.llama_cpp, checkpoint, file]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise OSError("the converter: " + done.stdout.strip().splitlines()[-1])


def ask(name, command, folder, path, question):
    """The answer of a server that is started for it."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    server = Process(name, [str(part) for part in command] + ["--port", str(port)], folder)
    try:
        server.expect(lambda: is_up(url))
        return post(url + path, question)
    finally:
        server.stop()


def continuation(args, file, folder, prompt):
    """[(token, {token: log-probability})] of llama.cpp."""
    command = [args.build / "bin/llama-server", "-m", file, "-c", 256, "-t", 2, "-np", 1, "-fa", "off", "-ctk", "f32", "-ctv", "f32", "--no-warmup"]
    answer = ask("llama", command, folder, "/completion",
                 {"prompt": prompt, "n_predict": ANSWER, "n_probs": VOCAB, "temperature": 0, "ignore_eos": True, "cache_prompt": False})
    return [(step["id"], {top["id"]: top["logprob"] for top in step["top_logprobs"]}) for step in answer["completion_probabilities"]]


def own(args, file, folder, tokens, first):
    """The log-probabilities at the places of tokens[first:], by token."""
    command = [args.program, "serve", "--model-path", file, "--dtype", "float32", "--skip-tokenizer-init", "--context-length", 128,
               "--speculative-algorithm", "none"]
    answer = ask("foretoken", command, folder, "/generate",
                 {"input_ids": tokens, "sampling_params": {"max_new_tokens": 1, "temperature": 0}, "return_logprob": True,
                  "logprob_start_len": first, "top_logprobs_num": VOCAB})
    places = answer["meta_info"]["input_top_logprobs"][-(len(tokens) - first):]
    return [{token: logprob for logprob, token, _ in place} for place in places]


def greatest_difference(args, family, folder):
    file = folder / "model.gguf"
    convert(args, checkpoint_of(family, FAMILIES[family], folder), file)
    prompt = [3 + (7 * i * i + 5 * i) % (VOCAB - 3) for i in range(PROMPT)]
    steps = continuation(args, file, folder, prompt)
    if len(steps) != ANSWER:
        raise OSError(f"llama.cpp gave {len(steps)} tokens")
    found = own(args, file, folder, prompt + [token for token, _ in steps], PROMPT)
    return max(abs(theirs - ours[token]) for (_, known), ours in zip(steps, found, strict=True) for token, theirs in known.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--llama-cpp", type=pathlib.Path, default=os.environ.get("FORETOKEN_LLAMA_CPP", "no such folder"))
    parser.add_argument("family", nargs="*", metavar="family")
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/foretoken")
    args = parser.parse_args()
    args.build = args.build or args.llama_cpp / "build"
    if not (args.build / "bin/llama-server").exists() or not (args.llama_cpp / "conversion").exists():
        print("skipped: no llama.cpp with its converter and llama-server")
        return SKIPPED
    unknown = set(args.family) - set(FAMILIES)
    if unknown:
        parser.error(f"not among the families: {', '.join(sorted(unknown))}")
    is_wrong = False
    for family in args.family or FAMILIES:
        with tempfile.TemporaryDirectory(prefix="compare_llama_cpp_") as folder:
            limit = LIMITS.get(family, LIMIT)
            try:
                found = greatest_difference(args, family, pathlib.Path(folder))
                print(f"{family:24} {found:.1e}{'' if found <= limit else f', above {limit:.0e}'}", flush=True)
                is_wrong |= not found <= limit
            except (Exception, SystemExit) as fault:  # the others are compared all the same
                print(f"{family:24} {fault}", flush=True)
                is_wrong = True
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())
