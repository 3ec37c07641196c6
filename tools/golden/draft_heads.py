"""Draft heads in plain PyTorch, from the description of their formats: without caches, all rows at once. What the
program computes is compared with these, so nothing here follows its code."""

import torch
import torch.nn.functional as F
import transformers


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
