"""Adds to tests/golden/drafts: tiny random targets with heads that read their keys and values.

    pip install torch transformers safetensors
    python tools/golden/make_query_head_golden.py [folder]

Target and head run in transformers, which gives the target's keys and values to the head. What is
written is described in make_draft_golden.py, which is run first: it removes what is there.
"""

import json
import pathlib
import shutil
import sys

import torch
import transformers
from safetensors.torch import save_file

VOCAB, TOPK, LENGTH = 64, 3, 37
SIZES = dict(vocab_size=VOCAB, intermediate_size=48, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=128, bos_token_id=1, eos_token_id=2, pad_token_id=0,
             initializer_range=0.15, rms_norm_eps=1e-5, head_dim=8, global_head_dim=16,
             sliding_window=8,
             rope_parameters=dict(
                 sliding_attention=dict(rope_type="default", rope_theta=100.0),
                 full_attention=dict(rope_type="proportional", partial_rotary_factor=0.5,
                                     rope_theta=1000.0)))
SLIDING, FULL = "sliding_attention", "full_attention"

# name: (settings of the target, of the head's layers, of the head, algorithm)
CASES = {
    # Keys and values that the target's own last layers share, too.
    "queries": (dict(hidden_size=48, num_hidden_layers=4, layer_types=[SLIDING, FULL] * 2,
                     hidden_size_per_layer_input=8, vocab_size_per_layer_input=VOCAB,
                     num_kv_shared_layers=2),
                dict(hidden_size=32, num_hidden_layers=3, layer_types=[SLIDING, SLIDING, FULL]),
                {}, "NEXTN"),
    "queries_ordered": (dict(hidden_size=32, num_hidden_layers=3, attention_k_eq_v=True,
                             num_global_key_value_heads=1, hidden_size_per_layer_input=0,
                             layer_types=[FULL, SLIDING, FULL]),
                        dict(hidden_size=40, num_hidden_layers=2, attention_k_eq_v=True,
                             num_global_key_value_heads=1, layer_types=[SLIDING, FULL]),
                        dict(use_ordered_embeddings=True, num_centroids=8,
                             centroid_intermediate_top_k=8), "EAGLE"),
}


def randomize(model):
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.copy_(1.0 + 0.2 * torch.randn_like(parameter))
        for name, buffer in model.named_buffers():
            if name.endswith("layer_scalar"):
                buffer.copy_(0.6 + 0.3 * torch.rand_like(buffer))
            if name.endswith("token_ordering"):
                buffer.copy_(torch.randperm(len(buffer)))


def save(model, folder):
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)


def make(root, name, target_settings, layers, settings):
    config = transformers.Gemma4TextConfig(**{**SIZES, **target_settings})
    target = transformers.AutoModelForCausalLM.from_config(
        config, dtype=torch.float32, attn_implementation="eager").eval()
    randomize(target)
    save(target, root / "targets" / name)
    text = transformers.Gemma4TextConfig(**{**SIZES, **layers}, hidden_size_per_layer_input=0,
                                         vocab_size_per_layer_input=0)
    head_config = transformers.Gemma4AssistantConfig(
        text_config=text, backbone_hidden_size=target_settings["hidden_size"], **settings)
    head = transformers.Gemma4AssistantForCausalLM(head_config).eval()
    head.set_attn_implementation("eager")
    randomize(head)
    save(head, root / "heads" / name)
    return target, head


def two_levels(target, head, tokens, root):
    with torch.no_grad():
        found = target(tokens[None], output_hidden_states=True, return_shared_kv_states=True)

        def draft(token, feature):
            embedded = target.get_input_embeddings()(torch.tensor([[token]]))
            made = head(inputs_embeds=torch.cat([embedded, feature], -1),
                        position_ids=torch.tensor([[len(tokens)]]),
                        shared_kv_states=dict(found.shared_kv_states))
            return made.logits[0, 0], made.last_hidden_state

        first, feature = draft(root, found.hidden_states[-1][:, -1:])
        score, index = first.softmax(-1).topk(TOPK)
        level_1 = [[int(i), float(s)] for i, s in zip(index, score)]
        second, candidates = [], []
        for parent, (token, parent_score) in enumerate(level_1):
            second.append(draft(token, feature)[0])
            best, index = second[-1].softmax(-1).topk(TOPK)
            candidates += [[int(i), parent, float(s) * parent_score] for i, s in zip(index, best)]
    candidates.sort(key=lambda c: -c[2])
    return first[None], torch.stack(second), level_1, candidates[:TOPK]


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "tests/golden") / "drafts"
    listed = [case for case in json.loads((root / "cases.json").read_text())
              if case["name"] not in CASES]
    for seed, (name, (target_settings, layers, settings, algorithm)) in enumerate(CASES.items()):
        for kind in ("targets", "heads"):
            shutil.rmtree(root / kind / name, ignore_errors=True)
        torch.manual_seed(500 + seed)
        target, head = make(root, name, target_settings, layers, settings)
        tokens, last = torch.randint(0, VOCAB, (LENGTH,)), int(torch.randint(0, VOCAB, ()))
        first, second, level_1, level_2 = two_levels(target, head, tokens, last)
        save_file({"first": first.contiguous(), "second": second}, root / f"{name}.safetensors")
        listed.append(dict(name=name, algorithm=algorithm, target=name, head=name,
                           tokens=tokens.tolist(), root=last, level_1=level_1, level_2=level_2))
        print(f"{name:20} logits std {first.std():.2f}, level 1 {level_1}, level 2 {level_2}")
    lines = ",\n".join(json.dumps(case) for case in listed)
    (root / "cases.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
