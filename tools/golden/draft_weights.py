"""Random weights of draft heads: the names and shapes that each kind has, and the numbers."""

import torch

from draft_heads import Mtp


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
        shapes["embed_tokens.weight"] = (config["vocab_size"], hidden)
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
