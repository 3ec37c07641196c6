"""The Llama architecture in plain PyTorch, small and made for training on a CPU.

State-dict names are those of Hugging Face's LlamaForCausalLM, so `Llama.state_dict()` is a checkpoint. The output
embedding is tied to the input embedding (no `lm_head.weight`). `hidden_states(taps=...)` returns the outputs of chosen
layers, which is what a draft head is trained on.
"""
import json
from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Config:
    vocab_size: int = 8192
    hidden_size: int = 384
    intermediate_size: int = 768
    num_hidden_layers: int = 10
    num_attention_heads: int = 6
    num_key_value_heads: int = 2
    head_dim: int = 64
    max_position_embeddings: int = 2048
    rms_norm_eps: float = 1e-5
    rope_theta: float = 10000.0

    def to_hf(self, bos: int, eos: int, pad: int) -> dict:
        return {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "attention_bias": False,
            "attention_dropout": 0.0,
            "bos_token_id": bos,
            "eos_token_id": eos,
            "pad_token_id": pad,
            "hidden_act": "silu",
            "initializer_range": 0.02,
            "mlp_bias": False,
            "rope_scaling": None,
            "tie_word_embeddings": True,
            "torch_dtype": "bfloat16",
            "use_cache": True,
            **asdict(self),
        }

    @classmethod
    def from_file(cls, path) -> "Config":
        raw = json.load(open(path))
        return cls(**{k: raw[k] for k in cls.__dataclass_fields__ if k in raw})


class Norm(nn.Module):
    def __init__(self, size: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x):
        return F.rms_norm(x, (x.shape[-1],), self.weight.to(x.dtype), self.eps)


def rope_table(config: Config):
    """cos and sin, each [max_position, head_dim], in Hugging Face's half-split layout."""
    half = torch.arange(0, config.head_dim, 2, dtype=torch.float32) / config.head_dim
    angles = torch.outer(torch.arange(config.max_position_embeddings).float(), config.rope_theta**-half)
    angles = torch.cat([angles, angles], dim=-1)
    return angles.cos(), angles.sin()


def rotate(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-b, a], dim=-1) * sin


def causal_attention(q, k, v):
    """q, k, v [rows, heads, length, dim]. On a CPU plain products beat the fused kernel up to about 512 positions."""
    rows, heads, length, dim = q.shape
    if length > 512:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    mask = torch.full((length, length), float("-inf"), dtype=q.dtype).triu(1)
    q, k, v = (t.reshape(rows * heads, length, dim) for t in (q, k, v))
    scores = torch.baddbmm(mask, q, k.transpose(1, 2), alpha=dim**-0.5)
    return torch.bmm(scores.softmax(-1, dtype=q.dtype), v).view(rows, heads, length, dim)


class Attention(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.heads, self.kv_heads, self.dim = c.num_attention_heads, c.num_key_value_heads, c.head_dim
        self.q_proj = nn.Linear(c.hidden_size, self.heads * self.dim, bias=False)
        self.k_proj = nn.Linear(c.hidden_size, self.kv_heads * self.dim, bias=False)
        self.v_proj = nn.Linear(c.hidden_size, self.kv_heads * self.dim, bias=False)
        self.o_proj = nn.Linear(self.heads * self.dim, c.hidden_size, bias=False)

    def forward(self, x, cos, sin):
        rows, length, _ = x.shape
        q = self.q_proj(x).view(rows, length, self.heads, self.dim).transpose(1, 2)
        k = self.k_proj(x).view(rows, length, self.kv_heads, self.dim).transpose(1, 2)
        v = self.v_proj(x).view(rows, length, self.kv_heads, self.dim).transpose(1, 2)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        group = self.heads // self.kv_heads
        k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
        y = causal_attention(q, k, v)
        return self.o_proj(y.transpose(1, 2).reshape(rows, length, -1))


class Mlp(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.gate_proj = nn.Linear(c.hidden_size, c.intermediate_size, bias=False)
        self.up_proj = nn.Linear(c.hidden_size, c.intermediate_size, bias=False)
        self.down_proj = nn.Linear(c.intermediate_size, c.hidden_size, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.input_layernorm = Norm(c.hidden_size, c.rms_norm_eps)
        self.self_attn = Attention(c)
        self.post_attention_layernorm = Norm(c.hidden_size, c.rms_norm_eps)
        self.mlp = Mlp(c)

    def forward(self, x, cos, sin):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class Trunk(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.embed_tokens = nn.Embedding(c.vocab_size, c.hidden_size)
        self.layers = nn.ModuleList(Layer(c) for _ in range(c.num_hidden_layers))
        self.norm = Norm(c.hidden_size, c.rms_norm_eps)


class Llama(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.model = Trunk(config)
        cos, sin = rope_table(config)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        self.reset()

    @torch.no_grad()
    def reset(self):
        scale = (2 * self.config.num_hidden_layers) ** -0.5
        for name, p in self.named_parameters():
            if p.dim() == 2:
                nn.init.normal_(p, std=0.02)
                if name.endswith(("o_proj.weight", "down_proj.weight")):
                    p.mul_(scale)

    def hidden_states(self, ids, taps=()):
        """ids [rows, length] -> normed hidden states [rows, length, hidden]; with taps, also those layers' outputs."""
        dtype = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else torch.float32
        x = self.model.embed_tokens(ids).to(dtype)
        cos, sin = self.cos[: ids.shape[1]].to(dtype), self.sin[: ids.shape[1]].to(dtype)
        tapped = []
        for i, layer in enumerate(self.model.layers):
            x = layer(x, cos, sin)
            if i in taps:
                tapped.append(x)
        x = self.model.norm(x)
        return (x, tapped) if taps else x

    def forward(self, ids):
        """ids [rows, length] -> logits [rows, length, vocab]."""
        return F.linear(self.hidden_states(ids), self.model.embed_tokens.weight)
