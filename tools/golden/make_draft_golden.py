"""Writes tests/golden/drafts: tiny random targets with draft heads, and what the heads propose.

    pip install torch transformers safetensors
    python tools/golden/make_draft_golden.py [folder [prefix]]   prefix: cases called so alone, and
                                                                 targets; the others stay

The cases named demo_* are the trained heads of the folder models.

The targets run in transformers. The heads are computed here in plain PyTorch from the description of
their formats: without caches, every candidate with all rows before it anew. cases.json lists
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
import torch.nn.functional as F
import transformers
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

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


def rms_norm(x, weight, eps):
    return x * (x.pow(2).mean(-1, keepdim=True) + eps).rsqrt() * weight


def rotated(x, theta):
    """x [heads, rows, dim]; row i stands at position i."""
    rows, dim = x.shape[-2:]
    angle = torch.arange(rows)[:, None] * theta ** (-torch.arange(0, dim, 2) / dim)
    first, second = x[..., : dim // 2], x[..., dim // 2:]
    return torch.cat([first * angle.cos() - second * angle.sin(),
                      second * angle.cos() + first * angle.sin()], -1)


class Layer:
    """A decoder layer without the norm in front, over all rows at once."""

    def __init__(self, config, weights, prefix):
        self.config, self.weights, self.prefix = config, weights, prefix

    def linear(self, name, x):
        return F.linear(x, self.weights[f"{self.prefix}{name}.weight"],
                        self.weights.get(f"{self.prefix}{name}.bias"))

    def heads(self, name, x, count, norm):
        x = self.linear(f"self_attn.{name}_proj", x)
        x = x.view(len(x), count, -1).transpose(0, 1)
        weight = self.weights.get(f"{self.prefix}self_attn.{norm}.weight")
        return x if weight is None else rms_norm(x, weight, self.config["rms_norm_eps"])

    def attention(self, x):
        c = self.config
        heads, kv_heads = c["num_attention_heads"], c["num_key_value_heads"]
        q = rotated(self.heads("q", x, heads, "q_norm"), c["rope_theta"])
        k = rotated(self.heads("k", x, kv_heads, "k_norm"), c["rope_theta"])
        v = self.heads("v", x, kv_heads, "none")
        k, v = (t.repeat_interleave(heads // kv_heads, 0) for t in (k, v))
        scores = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5
        scores = scores + torch.full(scores.shape[1:], float("-inf")).triu(1)
        attended = (scores.softmax(-1) @ v).transpose(0, 1).reshape(len(x), -1)
        return self.linear("self_attn.o_proj", attended)

    def __call__(self, x, residual):
        residual = residual + self.attention(x)
        weight = self.weights[f"{self.prefix}post_attention_layernorm.weight"]
        x = rms_norm(residual, weight, self.config["rms_norm_eps"])
        x = F.silu(self.linear("mlp.gate_proj", x)) * self.linear("mlp.up_proj", x)
        return residual + self.linear("mlp.down_proj", x)


class LatentLayer(Layer):
    """Its attention is transformers' own."""

    def attention(self, x):
        from transformers.models.deepseek_v3 import modeling_deepseek_v3 as deepseek
        config = transformers.DeepseekV3Config.from_dict(dict(self.config))
        config._attn_implementation = "eager"
        module = deepseek.DeepseekV3Attention(config, 0)
        prefix = f"{self.prefix}self_attn."
        module.load_state_dict({n.removeprefix(prefix): w for n, w in self.weights.items()
                                if n.startswith(prefix)})
        turns = deepseek.DeepseekV3RotaryEmbedding(config)(x[None], torch.arange(len(x))[None])
        mask = torch.full((len(x), len(x)), float("-inf")).triu(1)[None, None]
        with torch.no_grad():
            return module(x[None], position_embeddings=turns, attention_mask=mask)[0][0]


class GatedLayer(Layer):
    """A layer of a model that keeps states: its attention has a gate and rotates a quarter of each
    head, its MLP may be a mixture of experts. Norms are stored less 1."""

    def __init__(self, config, weights, prefix):
        super().__init__({**config, "rope_theta": 10000.0}, weights, prefix)

    def norm(self, name, x):
        return rms_norm(x, 1.0 + self.weights[f"{self.prefix}{name}.weight"], self.config["rms_norm_eps"])

    def attention(self, x):
        c, rows = self.config, len(x)
        heads, kv_heads, dim = c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"]
        q, gate = self.linear("self_attn.q_proj", x).view(rows, heads, 2 * dim).split(dim, -1)
        k = self.linear("self_attn.k_proj", x).view(rows, kv_heads, dim)
        v = self.linear("self_attn.v_proj", x).view(rows, kv_heads, dim).transpose(0, 1)

        def turned(name, part):
            part = self.norm(f"self_attn.{name}_norm", part).transpose(0, 1)
            return torch.cat([rotated(part[..., : dim // 4], c["rope_theta"]), part[..., dim // 4:]], -1)

        q, k = turned("q", q), turned("k", k)
        k, v = (t.repeat_interleave(heads // kv_heads, 0) for t in (k, v))
        scores = q @ k.transpose(1, 2) / dim ** 0.5
        scores = scores + torch.full(scores.shape[1:], float("-inf")).triu(1)
        attended = (scores.softmax(-1) @ v).transpose(0, 1) * gate.sigmoid()
        return self.linear("self_attn.o_proj", attended.reshape(rows, -1))

    def gated(self, prefix, x):
        return self.linear(f"{prefix}down_proj",
                           F.silu(self.linear(f"{prefix}gate_proj", x)) * self.linear(f"{prefix}up_proj", x))

    def mlp(self, x):
        if "num_experts" not in self.config:
            return self.gated("mlp.", x)
        weight, chosen = self.linear("mlp.gate", x).softmax(-1).topk(self.config["num_experts_per_tok"])
        weight = weight / weight.sum(-1, keepdim=True)
        out = self.linear("mlp.shared_expert_gate", x).sigmoid() * self.gated("mlp.shared_expert.", x)
        for row in range(len(x)):
            for share, expert in zip(weight[row], chosen[row]):
                out[row] = out[row] + share * self.gated(f"mlp.experts.{expert}.", x[row])
        return out

    def __call__(self, x, residual):
        residual = residual + self.attention(x)
        return residual + self.mlp(self.norm("post_attention_layernorm", residual))


class Head:
    """rows(tokens, features) -> (what the output matrix reads, what the next level reads)."""

    def __init__(self, config, weights, target, layer_prefix):
        self.config, self.w, self.target = config, weights, target
        self.eps = config["rms_norm_eps"]
        self.layers = [Layer(config, weights, layer_prefix.format(i))
                       for i in range(config["num_hidden_layers"])]
        self.embedding = target["embedding"]
        self.output = target["output"]
        self.target_ids = torch.arange(len(self.output))

    def norm(self, x, name):
        return rms_norm(x, self.w[f"{name}.weight"], self.eps)

    def linear(self, x, name):
        return F.linear(x, self.w[f"{name}.weight"], self.w.get(f"{name}.bias"))

    def features(self, found):
        return found["last_hidden"]

    def logits(self, hidden):
        return F.linear(hidden, self.output)


class Eagle(Head):
    def rows(self, tokens, features):
        x = self.linear(torch.cat([self.embedding[tokens], features], -1), "fc")
        for i, layer in enumerate(self.layers):
            x = layer(x if i == 0 else self.norm(x, f"layers.{i}.input_layernorm"), x)
        return x, x


class Eagle3(Head):
    def __init__(self, *args):
        super().__init__(*args)
        self.own = {**self.config, **self.config.get("eagle_config", {})}
        if "embed_tokens.weight" in self.w:
            self.embedding = self.w["embed_tokens.weight"]
        if "lm_head.weight" in self.w:
            self.output = self.w["lm_head.weight"]
            self.target_ids = torch.arange(len(self.output)) + self.w["d2t"]
        elif self.own.get("tie_word_embeddings"):
            self.output = self.embedding

    def features(self, found):
        if not self.own.get("use_aux_hidden_state", True):
            return found["last_hidden"]
        count = len(found["streams"])
        outputs = self.own.get("eagle_aux_hidden_state_layer_ids", [1, count // 2 - 1, count - 4])
        taps = [found["streams"][i + 1] for i in outputs]
        if self.own.get("fc_norm") or self.own.get("use_aux_norm"):
            taps = [self.norm(tap, f"fc_norm.{i}") for i, tap in enumerate(taps)]
        taps = torch.cat(taps, -1)
        if self.own.get("norm_before_fc"):
            taps = self.norm(taps, "input_norm")
        return self.linear(taps, "fc")

    def rows(self, tokens, features):
        e = self.norm(self.embedding[tokens], "layers.0.input_layernorm")
        h = self.norm(features, "layers.0.hidden_norm")
        x = h if self.own.get("norm_before_residual") else features
        for i, layer in enumerate(self.layers):
            x = layer(torch.cat([e, h], -1) if i == 0 else self.norm(x, f"layers.{i}.hidden_norm"), x)
        hidden = self.norm(x, "norm")
        return hidden, hidden if self.own.get("norm_output") else x


class Mtp(Head):
    """All three makes; `names` holds their words for the same things. depth: of a head of several."""

    @staticmethod
    def words(make, depth):
        layer = {"mimo": f"model.mtp_layers.{depth}.", "nextn": f"model.layers.{2 + depth}.",
                 "mtp": f"mtp.layers.{depth}."}[make]
        return {
            "mimo": dict(layer=layer, e=layer + "token_layernorm", h=layer + "hidden_layernorm",
                         join=layer + "input_proj", end=layer + "final_layernorm"),
            "nextn": dict(layer=layer, e=layer + "enorm", h=layer + "hnorm", join=layer + "eh_proj",
                          end=layer + "shared_head.norm"),
            "mtp": dict(layer=layer, e="mtp.pre_fc_norm_embedding", h="mtp.pre_fc_norm_hidden",
                        join="mtp.fc", end="mtp.norm"),
        }[make]

    def __init__(self, make, config, weights, target, depth=0):
        super().__init__({**config, "num_hidden_layers": 1}, weights, target, "")
        self.make, self.names = make, self.words(make, depth)
        kind = (LatentLayer if "kv_lora_rank" in config else
                GatedLayer if keeps_states(config) else Layer)
        self.norm_offset = 1.0 if keeps_states(config) else 0.0
        self.layers = [kind(config, weights, self.names["layer"])]

    def norm(self, x, name):
        return rms_norm(x, self.norm_offset + self.w[f"{name}.weight"], self.eps)

    def rows(self, tokens, features):
        embedded = self.embedding[tokens].clone()
        if self.make == "mimo":
            embedded[0] = 0
        parts = [self.norm(embedded, self.names["e"]), self.norm(features, self.names["h"])]
        if self.make == "mimo":
            parts.reverse()
        x = self.linear(torch.cat(parts, -1), self.names["join"])
        x = self.layers[0](self.norm(x, self.names["layer"] + "input_layernorm"), x)
        x = self.norm(x, self.names["end"])
        return x, x


def keeps_states(config):
    return "linear_num_key_heads" in config


def random_weight(name, shape):
    if name.endswith("A_log"):  # states that remember some tokens
        return -3.0 + torch.randn(shape)
    if name.endswith("bias"):
        return 0.2 * torch.randn(shape)
    if len(shape) == 1:
        return 1.0 + 0.2 * torch.randn(shape)
    return torch.randn(shape) * (2.0 / shape[1]) ** 0.5


def layer_shapes(config, prefix, in_width, has_bias, qk_norm):
    hidden, inner, dim = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    q, kv = config["num_attention_heads"] * dim, config["num_key_value_heads"] * dim
    shapes = {}
    for name, width in (("q", q), ("k", kv), ("v", kv)):
        shapes[f"{prefix}self_attn.{name}_proj.weight"] = (width, in_width)
        if has_bias:
            shapes[f"{prefix}self_attn.{name}_proj.bias"] = (width,)
        if qk_norm and name != "v":
            shapes[f"{prefix}self_attn.{name}_norm.weight"] = (dim,)
    shapes[f"{prefix}self_attn.o_proj.weight"] = (hidden, q)
    shapes[f"{prefix}post_attention_layernorm.weight"] = (hidden,)
    shapes[f"{prefix}mlp.gate_proj.weight"] = shapes[f"{prefix}mlp.up_proj.weight"] = (inner, hidden)
    shapes[f"{prefix}mlp.down_proj.weight"] = (hidden, inner)
    return shapes


def head_shapes(algorithm, config):
    hidden, shapes = config["hidden_size"], {}
    if algorithm == "EAGLE":
        shapes["fc.weight"] = (hidden, 2 * hidden)
        if config.get("bias", True):
            shapes["fc.bias"] = (hidden,)
        for i in range(config["num_hidden_layers"]):
            has_bias = "Qwen2" in config["architectures"][0]
            shapes |= layer_shapes(config, f"layers.{i}.", hidden, has_bias, False)
            if i > 0:
                shapes[f"layers.{i}.input_layernorm.weight"] = (hidden,)
        return shapes
    own = {**config, **config.get("eagle_config", {})}
    width = config.get("target_hidden_size") or hidden
    if own.get("use_aux_hidden_state", True):
        taps = len(own.get("eagle_aux_hidden_state_layer_ids", range(3)))
        shapes["fc.weight"] = (hidden, taps * width)
        if own.get("bias"):
            shapes["fc.bias"] = (hidden,)
        if own.get("norm_before_fc"):
            shapes["input_norm.weight"] = (taps * width,)
        if own.get("fc_norm") or own.get("use_aux_norm"):
            shapes |= {f"fc_norm.{i}.weight": (width,) for i in range(taps)}
    shapes["layers.0.input_layernorm.weight"] = shapes["norm.weight"] = (hidden,)
    for i in range(config["num_hidden_layers"]):
        shapes |= layer_shapes(config, f"layers.{i}.", (2 if i == 0 else 1) * hidden, False, False)
        shapes[f"layers.{i}.hidden_norm.weight"] = (hidden,)
    if width != hidden:
        shapes["embed_tokens.weight"] = (VOCAB, hidden)
    if config.get("draft_vocab_size"):
        shapes["lm_head.weight"] = (config["draft_vocab_size"], hidden)
    return shapes


def mtp_shapes(make, config, depth, trunk=None):
    """trunk: the target's tensors, where the layer of the head is one of the target's."""
    names, hidden = Mtp.words(make, depth), config["hidden_size"]
    shapes = {f"{names[k]}.weight": (hidden,) for k in ("e", "h", "end")}
    shapes[f"{names['join']}.weight"] = (hidden, 2 * hidden)
    shapes[f"{names['layer']}input_layernorm.weight"] = (hidden,)
    if trunk is not None:
        keeping = config.get("layer_types", ["full_attention"]).index("full_attention")
        first = f"model.layers.{keeping}."
        return shapes | {names["layer"] + n.removeprefix(first): tuple(w.shape)
                         for n, w in trunk.items() if n.startswith(first)}
    return shapes | layer_shapes(config, names["layer"], hidden, make == "mimo", make == "mtp")


def saved_tensors(folder):
    return load_file(folder / "model.safetensors")


def stacked(weights):
    """The experts of each layer as one tensor of gates and ups, and one of downs."""
    kept = {n: w for n, w in weights.items() if ".experts." not in n}
    for prefix in {n.split(".experts.")[0] + ".experts." for n in weights if ".experts." in n}:
        count = 1 + max(int(n.removeprefix(prefix).split(".")[0])
                        for n in weights if n.startswith(prefix))
        part = lambda e, kind: weights[f"{prefix}{e}.{kind}_proj.weight"]
        kept[prefix + "gate_up_proj"] = torch.stack(
            [torch.cat([part(e, "gate"), part(e, "up")]) for e in range(count)])
        kept[prefix + "down_proj"] = torch.stack([part(e, "down") for e in range(count)])
    return kept


def make_weights(shapes):
    return {name: random_weight(name, shape) for name, shape in shapes.items()}


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
