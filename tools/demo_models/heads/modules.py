"""Draft heads, unrolled as they run: each level of a draft reads what the level before it wrote.

Row t of a head reads the token x[t+1] and the target's feature at t, and guesses x[t+2]. In level j of an unrolled pass,
row t stands for a draft that knows the target's features up to t-j only: its feature is the head's own output of
level j-1 at row t-1, and it attends level 0 up to row t-j and level i at row t-j+i. So all rows of a text train all depths
at once. State-dict names are those of the published checkpoints.
"""
import torch
import torch.nn.functional as F
from torch import nn

from model import Config, Mlp, Norm, rotate


def shift(x, by: int, dim: int):
    """Moves x towards higher indices along dim; zeros enter."""
    if by == 0:
        return x
    padding = torch.zeros_like(x.narrow(dim, 0, by))
    return torch.cat([padding, x.narrow(dim, 0, x.shape[dim] - by)], dim)


class UnrolledAttention(nn.Module):
    def __init__(self, c: Config, width: int, bias: bool):
        super().__init__()
        self.heads, self.kv_heads, self.dim = c.num_attention_heads, c.num_key_value_heads, c.head_dim
        self.q_proj = nn.Linear(width, self.heads * self.dim, bias=bias)
        self.k_proj = nn.Linear(width, self.kv_heads * self.dim, bias=bias)
        self.v_proj = nn.Linear(width, self.kv_heads * self.dim, bias=bias)
        self.o_proj = nn.Linear(self.heads * self.dim, c.hidden_size, bias=False)

    def forward(self, x, rope, seen: list):
        """x [rows, length, width]; seen: keys and values of the earlier levels, extended by this one's."""
        rows, length, _ = x.shape
        split = lambda y, heads: y.view(rows, length, heads, self.dim).transpose(1, 2)
        group = self.heads // self.kv_heads
        q = rotate(split(self.q_proj(x), self.heads), *rope) * self.dim**-0.5
        k = rotate(split(self.k_proj(x), self.kv_heads), *rope).repeat_interleave(group, dim=1)
        v = split(self.v_proj(x), self.kv_heads).repeat_interleave(group, dim=1)
        seen.append((k, v))
        level = len(seen) - 1
        hidden_keys = torch.full((length, length), float("-inf"), dtype=q.dtype, device=q.device).triu(1 - level)
        scores = [q @ seen[0][0].transpose(-1, -2) + hidden_keys]
        for i in range(1, level + 1):
            scores.append((q * shift(seen[i][0], level - i, 2)).sum(-1, keepdim=True))
        shares = torch.cat(scores, -1).softmax(-1, dtype=q.dtype)
        y = shares[..., :length] @ seen[0][1]
        for i in range(1, level + 1):
            y = y + shares[..., length + i - 1 : length + i] * shift(seen[i][1], level - i, 2)
        return self.o_proj(y.transpose(1, 2).reshape(rows, length, -1))


class HeadLayer(nn.Module):
    """A Llama layer whose norms before attention differ from family to family."""

    def __init__(self, c: Config, norms: tuple, width: int, bias: bool = False):
        super().__init__()
        for name in norms:
            setattr(self, name, Norm(c.hidden_size, c.rms_norm_eps))
        self.self_attn = UnrolledAttention(c, width, bias)
        self.post_attention_layernorm = Norm(c.hidden_size, c.rms_norm_eps)
        self.mlp = Mlp(c)

    def after_norm(self, x, residual, rope, seen):
        x = residual + self.self_attn(x, rope, seen)
        return x + self.mlp(self.post_attention_layernorm(x))


@torch.no_grad()
def reset(module: nn.Module):
    """Small random matrices, no biases: a head begins by guessing every token alike. Taking over the target's last layer
    instead makes it begin with strong wrong guesses."""
    for p in module.parameters():
        if p.dim() == 2:
            nn.init.normal_(p, std=0.02)
    for layer in module.modules():
        if isinstance(layer, nn.Linear) and layer.bias is not None:
            nn.init.zeros_(layer.bias)


class Eagle(nn.Module):
    """EAGLE and EAGLE-2: fc over embedding and feature, a layer without input norm, the target's output matrix."""

    levels, regression = 4, 0.5

    def __init__(self, target):
        super().__init__()
        c = target.config
        self.fc = nn.Linear(2 * c.hidden_size, c.hidden_size, bias=True)
        self.layers = nn.ModuleList([HeadLayer(c, (), c.hidden_size)])
        reset(self)
        self.output = [target.embedding]  # in a list: not a parameter of the head

    def first_feature(self, features):
        return features.last

    def forward(self, embedded, feature, rope, seen):
        """-> what logits() reads, what the next level reads; both [rows, length, hidden]."""
        x = self.fc(torch.cat([embedded, feature], -1))
        x = self.layers[0].after_norm(x, x, rope, seen)
        return x, x

    def logits(self, hidden):
        return F.linear(hidden, self.output[0])


class Eagle3(nn.Module):
    """EAGLE-3: three taps joined by fc, a layer that reads embedding and feature side by side, a small vocabulary."""

    levels, regression = 4, 0.0

    def __init__(self, target, draft_ids):
        super().__init__()
        c = target.config
        self.fc = nn.Linear(len(target.taps) * c.hidden_size, c.hidden_size, bias=False)
        self.midlayer = HeadLayer(c, ("input_layernorm", "hidden_norm"), 2 * c.hidden_size)
        self.norm = Norm(c.hidden_size, c.rms_norm_eps)
        self.lm_head = nn.Linear(c.hidden_size, len(draft_ids), bias=False)
        reset(self)
        with torch.no_grad():
            self.lm_head.weight.copy_(target.embedding[draft_ids])
        self.draft_ids = draft_ids

    def first_feature(self, features):
        return self.fc(torch.cat(features.taps, -1))

    def forward(self, embedded, feature, rope, seen):
        layer = self.midlayer
        x = torch.cat([layer.input_layernorm(embedded), layer.hidden_norm(feature)], -1)
        x = layer.after_norm(x, feature, rope, seen)
        return self.norm(x), x

    def logits(self, hidden):
        return self.lm_head(hidden)


class Mtp(nn.Module):
    """MiMo's MTP layer: feature first, both normed, a Qwen 2 block, a final norm; the target's output matrix."""

    levels, regression = 2, 0.0

    def __init__(self, target):
        super().__init__()
        c = target.config
        self.token_layernorm, self.hidden_layernorm = (Norm(c.hidden_size, c.rms_norm_eps) for _ in range(2))
        self.input_proj = nn.Linear(2 * c.hidden_size, c.hidden_size, bias=False)
        self.block = HeadLayer(c, ("input_layernorm",), c.hidden_size, bias=True)
        self.final_layernorm = Norm(c.hidden_size, c.rms_norm_eps)
        reset(self)
        self.output = [target.embedding]

    def first_feature(self, features):
        return features.last

    def forward(self, embedded, feature, rope, seen):
        embedded = torch.cat([torch.zeros_like(embedded[:, :1]), embedded[:, 1:]], 1)  # position 0 reads no token
        x = self.input_proj(torch.cat([self.hidden_layernorm(feature), self.token_layernorm(embedded)], -1))
        x = self.final_layernorm(self.block.after_norm(self.block.input_layernorm(x), x, rope, seen))
        return x, x

    def logits(self, hidden):
        return F.linear(hidden, self.output[0])
