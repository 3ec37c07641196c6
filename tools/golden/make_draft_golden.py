"""Writes tests/golden/drafts: tiny random targets with draft heads, and what the heads propose.

    pip install torch transformers safetensors
    python tools/golden/make_draft_golden.py [folder [prefix]]   prefix: cases called so alone, and
                                                                 targets; the others stay

The cases named demo_* are the trained heads of the folder models.

The targets run in transformers, the heads in draft_heads.py: every candidate with all rows before it
anew. Their weights are of draft_weights.py. cases.json lists
    name, algorithm    as on the command line
    target, head       checkpoint folders; no head: it is in the target's checkpoint
    tokens, root       the committed text, and the token behind it from which the tree grows
    token_map          file of the tokens that are drafted (FR-Spec), if there is one
    level_1            [token, score] of the best children of the root, best first
    level_2            [token, parent in level_1, score] of the best of their children
    path               where there is a head for each depth: the best child, its best child, ...
and <name>.safetensors holds the logits over the draft vocabulary: `first` [1, vocab] of the root,
`second` [topk, vocab] of its children, and `way` [length of path, vocab] of the root and all but the
last of path, float32.
"""

import json
import pathlib
import shutil
import sys

import torch
import transformers
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

from draft_heads import Eagle, Eagle3, Mtp, keeps_states
from draft_weights import head_shapes, make_weights, mtp_shapes, random_weight, stacked

VOCAB, TOPK, LENGTH, PATH = 64, 3, 37, 5
SIZES = dict(vocab_size=VOCAB, hidden_size=32, intermediate_size=48, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=128, bos_token_id=1, eos_token_id=2,
             initializer_range=0.15, rms_norm_eps=1e-5)

DELTA = dict(linear_key_head_dim=8, linear_value_head_dim=12, linear_num_key_heads=2,
             linear_num_value_heads=4, pad_token_id=0)
EXPERTS = dict(num_experts=5, num_experts_per_tok=2, moe_intermediate_size=20,
               shared_expert_intermediate_size=28)

# name: (config class, settings, the MTP heads in the checkpoint, how many where not one)
TARGETS = {
    "llama": ("LlamaConfig", dict(head_dim=8, num_hidden_layers=6), None),
    "qwen3": ("Qwen3Config", dict(head_dim=16, num_hidden_layers=6, tie_word_embeddings=True), None),
    "mimo": ("Qwen2Config", dict(num_hidden_layers=2), "mimo"),
    "nextn": ("LlamaConfig", dict(head_dim=8, num_hidden_layers=2), "nextn"),
    "qwen3_mtp": ("Qwen3Config", dict(head_dim=16, num_hidden_layers=2), "mtp"),
    "mimo_chain": ("Qwen2Config", dict(num_hidden_layers=2), "mimo", 2),
    "nextn_chain": ("LlamaConfig", dict(head_dim=8, num_hidden_layers=2), "nextn", 3),
    # Layers of heads count on from the target's: here they have no experts, either.
    "nextn_latent": ("DeepseekV3Config",
                     dict(num_hidden_layers=2, first_k_dense_replace=4, num_key_value_heads=4,
                          kv_lora_rank=24, q_lora_rank=20, qk_nope_head_dim=12,
                          qk_rope_head_dim=8, v_head_dim=16), "nextn", 2),
    # Layers that keep a state; those of heads keep keys and values.
    "states_mtp": ("Qwen3_5TextConfig",
                   dict(DELTA, head_dim=16, num_hidden_layers=3,
                        layer_types=["linear_attention", "full_attention", "linear_attention"]),
                   "mtp"),
    # The same with experts, each in tensors of its own, and all of them in one.
    "states_experts_mtp": ("Qwen3NextConfig",
                           dict(DELTA, **EXPERTS, head_dim=16, num_hidden_layers=4), "mtp"),
    "states_stacked_mtp": ("Qwen3_5MoeTextConfig",
                           dict(DELTA, **EXPERTS, head_dim=16, num_hidden_layers=2,
                                layer_types=["full_attention", "linear_attention"]), "mtp"),
}
# Targets whose heads hold their experts as one tensor.
STACKED = ["states_stacked_mtp"]

EAGLE3_FLAGS = dict(norm_before_residual=True, norm_output=True, norm_before_fc=True, fc_norm=True,
                    bias=True, num_hidden_layers=2, num_aux_hidden_states=2, draft_vocab_size=None,
                    eagle_config=dict(eagle_aux_hidden_state_layer_ids=[0, 4]))

# (name, target, algorithm, head), folders of models/; a text that the demo model goes on with.
DEMO_CASES = [("demo_eagle", "demo", "EAGLE", "demo-eagle"),
              ("demo_eagle3", "demo", "EAGLE3", "demo-eagle3"),
              ("demo_mimo", "demo-mimo", "NEXTN", None)]
DEMO_TEXT = ("<|bos|><|user|>Tell me a short story about a dog.<|end|><|assistant|>Once upon a time there was "
             "a small dog named Rex who lived in a green forest. One morning")

# (name, target, algorithm, settings of the head's config, options)
CASES = [
    ("eagle", "llama", "EAGLE", {}, {}),
    ("eagle_prefixed_two_layers", "llama", "EAGLE", dict(num_hidden_layers=2, bias=False),
     dict(prefix="model.")),
    ("eagle_frspec", "llama", "EAGLE", {}, dict(hot=[9, 3, 60, 17, 2, 33, 41, 8, 55, 12, 20, 5])),
    ("eagle_qwen2_style", "qwen3", "EAGLE", dict(architectures=["Qwen2ForCausalLMEagle"]), {}),
    ("eagle3", "llama", "EAGLE3", dict(draft_vocab_size=24), dict(layer="midlayer.")),
    ("eagle3_of_qwen3", "qwen3", "EAGLE3", dict(draft_vocab_size=24), {}),
    ("eagle3_flags", "llama", "EAGLE3", EAGLE3_FLAGS, dict(prefix="model.")),
    ("eagle3_old_norms", "llama", "EAGLE3", dict(draft_vocab_size=24, use_aux_norm=True),
     dict(layer="midlayer.", old_norms=True)),
    ("eagle3_wider_than_its_target", "llama", "EAGLE3",
     dict(hidden_size=48, target_hidden_size=32, draft_vocab_size=24), {}),
    ("eagle3_last_hidden_tied", "llama", "EAGLE3",
     dict(eagle_config=dict(use_aux_hidden_state=False), tie_word_embeddings=True), {}),
    ("mimo", "mimo", "EAGLE", None, {}),
    ("nextn", "nextn", "NEXTN", None, {}),
    ("qwen3_mtp", "qwen3_mtp", "EAGLE", None, {}),
    ("mimo_chain", "mimo_chain", "EAGLE", None, {}),
    ("nextn_chain", "nextn_chain", "NEXTN", None, {}),
    ("nextn_latent", "nextn_latent", "NEXTN", None, {}),
    ("states_mtp", "states_mtp", "NEXTN", None, {}),
    ("states_experts_mtp", "states_experts_mtp", "NEXTN", None, {}),
    ("states_stacked_mtp", "states_stacked_mtp", "NEXTN", None, {}),
]


def saved_tensors(folder):
    return load_file(folder / "model.safetensors")


def make_target(folder, kind, settings, make, heads=1):
    """The checkpoint, transformers' model, and the weights of its MTP heads."""
    config = getattr(transformers, kind)(**{**SIZES, **settings})
    model = transformers.AutoModelForCausalLM.from_config(
        config, dtype=torch.float32, attn_implementation="eager").eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1:
                parameter.copy_(random_weight(name, parameter.shape))
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    written = json.loads((folder / "config.json").read_text())
    plain = {**written, "rope_theta": 10000.0,
             "head_dim": written.get("head_dim") or written["hidden_size"] // 4}
    weights = {}
    for depth in range(heads if make else 0):
        trunk = saved_tensors(folder) if "kv_lora_rank" in plain or keeps_states(plain) else None
        weights |= make_weights(mtp_shapes(make, plain, depth, trunk))
    if keeps_states(plain):  # norms are stored less 1
        for name in [n for n in weights if n.endswith("norm.weight") or "norm_" in n]:
            weights[name] = weights[name] - 1.0
    if make:
        stored = saved_tensors(folder)
        heads_stored = stacked(weights) if folder.name in STACKED else weights
        save_file({**stored, **heads_stored}, folder / "model.safetensors")
        if not keeps_states(plain):
            written["num_nextn_predict_layers"] = heads
        if make == "mimo":
            written |= dict(architectures=["MiMoForCausalLM"], model_type="mimo")
        (folder / "config.json").write_text(json.dumps(written, indent=1))
    return model, plain, weights


def run_target(model, tokens):
    with torch.no_grad():
        output = model.model(tokens[None], output_hidden_states=True)
    return {"streams": [s[0] for s in output.hidden_states[:-1]], "last_hidden": output[0][0]}


def stored_name(name, options):
    if options.get("old_norms"):
        for i, word in enumerate(("low", "mid", "high")):
            name = name.replace(f"fc_norm.{i}.", f"aux_norm_{word}.")
    if "layer" in options:
        name = name.replace("layers.0.", options["layer"])
    return options.get("prefix", "") + name


def make_head(folder, algorithm, plain, settings, options, target):
    config = dict(architectures=[f"LlamaForCausalLM{'Eagle3' if algorithm == 'EAGLE3' else 'Eagle'}"],
                  model_type="llama", num_hidden_layers=1, head_dim=8,
                  torch_dtype="float32", hidden_act="silu", rope_theta=10000.0,
                  tie_word_embeddings=False,
                  **{k: plain[k] for k in ("vocab_size", "hidden_size", "intermediate_size",
                                           "num_attention_heads", "num_key_value_heads",
                                           "rms_norm_eps", "max_position_embeddings")})
    config |= settings
    weights = make_weights(head_shapes(algorithm, config))
    if "lm_head.weight" in weights:
        ids = torch.randperm(VOCAB)[: config["draft_vocab_size"]].sort().values
        weights["d2t"] = ids - torch.arange(len(ids))
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    stored = {stored_name(name, options): weight for name, weight in weights.items()}
    if "d2t" in weights:
        stored["t2d"] = torch.isin(torch.arange(VOCAB), weights["d2t"] + torch.arange(len(ids)))
    save_file(stored, folder / "model.safetensors")
    return (Eagle3 if algorithm == "EAGLE3" else Eagle)(config, weights, target, "layers.{}.")


def demo_case(models, name, target_name, algorithm, head_name):
    """(head, what the target finds, tokens, the target's own next token)"""
    folder = models / target_name
    plain = json.loads((folder / "config.json").read_text())
    weights = {n: t.float() for n, t in load_file(folder / "model.safetensors").items()}
    kind = "Qwen2Config" if algorithm == "NEXTN" else "LlamaConfig"
    config = getattr(transformers, kind)(**{k: v for k, v in plain.items()
                                            if k not in ("architectures", "model_type", "torch_dtype", "dtype")})
    model = transformers.AutoModelForCausalLM.from_config(
        config, dtype=torch.float32, attn_implementation="eager").eval()
    trunk = {n: t for n, t in weights.items() if "mtp" not in n}
    assert not model.load_state_dict(trunk, strict=False).unexpected_keys
    model.tie_weights()
    shared = {"embedding": model.get_input_embeddings().weight.detach(),
              "output": model.get_output_embeddings().weight.detach()}
    if head_name is None:
        head = Mtp("mimo", plain, weights, shared)
    else:
        config = json.loads((models / head_name / "config.json").read_text())
        file = next((models / head_name).glob("*.bin"), None)
        stored = torch.load(file) if file else load_file(models / head_name / "model.safetensors")
        own = {n.removeprefix("model.").replace("midlayer.", "layers.0."): t if t.dtype == torch.int64 else t.float()
               for n, t in stored.items()}
        head = (Eagle3 if algorithm == "EAGLE3" else Eagle)(config, own, shared, "layers.{}.")
    ids = Tokenizer.from_file(str(folder / "tokenizer.json")).encode(DEMO_TEXT, add_special_tokens=False).ids
    tokens = torch.tensor(ids)
    found = run_target(model, tokens)
    return head, found, tokens, int((shared["output"] @ found["last_hidden"][-1]).argmax())


def two_levels(head, found, tokens, root):
    """Row t reads token t + 1 and feature t."""
    features = head.features(found)
    ids = torch.cat([tokens[1:], torch.tensor([root])])
    hidden, next_feature = head.rows(ids, features)
    first = head.logits(hidden[-1:])
    score, index = first[0].softmax(-1).topk(TOPK)
    level_1 = [[int(head.target_ids[i]), float(s)] for i, s in zip(index, score)]
    second, candidates = [], []
    for parent, (token, parent_score) in enumerate(level_1):
        hidden, _ = head.rows(torch.cat([ids, torch.tensor([token])]),
                              torch.cat([features, next_feature[-1:]]))
        second.append(head.logits(hidden[-1]))
        best, index = second[-1].softmax(-1).topk(TOPK)
        candidates += [[int(head.target_ids[i]), parent, float(s) * parent_score]
                       for i, s in zip(index, best)]
    candidates.sort(key=lambda c: -c[2])
    return first, torch.stack(second), level_1, candidates[:TOPK]


def levels_of_several(heads, found, tokens, root):
    """The same where there is a head for each depth, and the best path further down. Row t of head d
    reads token t + 1 + d, and the target's feature t or what head d - 1 made of its own row t."""
    count, last = len(tokens), len(heads) - 1
    target = heads[0].features(found)

    def run(head, ids, rows):
        features = target
        if head > 0 and heads[0].make != "mimo":
            features = run(head - 1, ids, count)[1]
        ids = ids[1 + head: 1 + head + rows]
        for more in range(count, rows):  # the last head goes on with what it made itself
            features = torch.cat([features, heads[head].rows(ids[:more], features)[1][-1:]])
        return heads[head].rows(ids, features)

    def logits(path):
        depth = len(path)
        head = min(depth, last)
        ids = torch.cat([tokens, torch.tensor([root, *path])])
        return heads[0].logits(run(head, ids, count + depth - head)[0][-1])

    first = logits([])
    score, index = first.softmax(-1).topk(TOPK)
    level_1 = [[int(i), float(s)] for i, s in zip(index, score)]
    second, candidates = [], []
    for parent, (token, parent_score) in enumerate(level_1):
        second.append(logits([token]))
        best, index = second[-1].softmax(-1).topk(TOPK)
        candidates += [[int(i), parent, float(s) * parent_score] for i, s in zip(index, best)]
    candidates.sort(key=lambda c: -c[2])
    path, way = [], []
    for _ in range(PATH):
        way.append(logits(path))
        path.append(int(way[-1].argmax()))
    return first[None], torch.stack(second), level_1, candidates[:TOPK], path, torch.stack(way)


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "tests/golden") / "drafts"
    prefix = sys.argv[2] if len(sys.argv) > 2 else ""
    kept = []
    if prefix:
        kept = [case for case in json.loads((root / "cases.json").read_text())
                if not case["name"].startswith(prefix)]
        for folder in (root / "targets").glob(prefix + "*"):
            shutil.rmtree(folder)
    else:
        shutil.rmtree(root, ignore_errors=True)
    targets = {}
    for seed, (name, description) in enumerate(TARGETS.items()):
        if not name.startswith(prefix):
            continue
        torch.manual_seed(seed)
        targets[name] = make_target(root / "targets" / name, *description)
    listed = kept
    for seed, (name, target, algorithm, settings, options) in enumerate(CASES):
        if not name.startswith(prefix):
            continue
        torch.manual_seed(100 + seed)
        model, plain, mtp = targets[target]
        shared = {"embedding": model.get_input_embeddings().weight.detach(),
                  "output": model.get_output_embeddings().weight.detach()}
        case = dict(name=name, algorithm=algorithm, target=target)
        make, *number = TARGETS[target][2:]
        if settings is None:
            heads = [Mtp(make, plain, mtp, shared, depth) for depth in range(*number or [1])]
            head = heads[0]
        else:
            case["head"] = name
            head = make_head(root / "heads" / name, algorithm, plain, settings, options, shared)
        if "hot" in options:
            case["token_map"] = f"heads/{name}/freq.pt"
            torch.save(options["hot"], root / case["token_map"])
            head.output, head.target_ids = head.output[options["hot"]], torch.tensor(options["hot"])
        tokens, last = torch.randint(0, VOCAB, (LENGTH,)), int(torch.randint(0, VOCAB, ()))
        found, stored = run_target(model, tokens), {}
        if number:
            first, second, level_1, level_2, case["path"], stored["way"] = levels_of_several(
                heads, found, tokens, last)
        else:
            first, second, level_1, level_2 = two_levels(head, found, tokens, last)
        save_file({"first": first.contiguous(), "second": second, **stored}, root / f"{name}.safetensors")
        listed.append({**case, "tokens": tokens.tolist(), "root": last, "level_1": level_1,
                       "level_2": level_2})
        print(f"{name:30} logits std {first.std():.2f}, level 1 {level_1}, level 2 {level_2}")
    models = pathlib.Path(__file__).parents[2] / "models"
    for name, target, algorithm, head_name in DEMO_CASES if not prefix else []:
        head, found, tokens, last = demo_case(models, name, target, algorithm, head_name)
        with torch.no_grad():
            first, second, level_1, level_2 = two_levels(head, found, tokens, last)
        save_file({"first": first.contiguous(), "second": second}, root / f"{name}.safetensors")
        case = dict(name=name, algorithm=algorithm, target=f"../../../../models/{target}")
        if head_name:
            case["head"] = f"../../../../models/{head_name}"
        listed.append({**case, "tokens": tokens.tolist(), "root": last, "level_1": level_1, "level_2": level_2})
        print(f"{name:30} level 1 {level_1}, level 2 {level_2}")
    lines = ",\n".join(json.dumps(case) for case in listed)
    (root / "cases.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
