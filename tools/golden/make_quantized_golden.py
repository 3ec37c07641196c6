"""Writes tests/golden/quantized: a tiny random Llama in every format of quantized checkpoints that
is read, and the logits that Hugging Face transformers gives for it.

    pip install torch transformers safetensors
    python tools/golden/make_quantized_golden.py [folder]

A case is a folder with config.json and model.safetensors as tools of that format write them (packed
here, by the formats' own rules), and logits.safetensors with `tokens` and `logits` [tokens, vocab],
computed in float32 by transformers on the weights that the codes stand for, in bf16 where products
keep their input; where products round their input, the linears are replaced by plain PyTorch that
rounds it. `floats` holds the weights as they were, with logits for what is quantized while loading
and for keys and values of 8 bits.
"""

import json
import pathlib
import shutil
import sys

import torch
import transformers
from safetensors.torch import save_file

VOCAB, GROUP = 64, 32
TOKENS = torch.randint(0, VOCAB, (40,), generator=torch.Generator().manual_seed(5))


def new_model():
    torch.manual_seed(3)
    config = transformers.LlamaConfig(
        vocab_size=VOCAB, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=16, max_position_embeddings=128, bos_token_id=1, eos_token_id=2,
        initializer_range=0.15, tie_word_embeddings=False)
    model = transformers.LlamaForCausalLM(config).float().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.bfloat16().float())
    return model


def new_pairs_model():
    """Half of each head is rotated, by pairs of neighbours; gate and up are one matrix."""
    torch.manual_seed(4)
    config = transformers.Glm4Config(
        vocab_size=VOCAB, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=16, partial_rotary_factor=0.5, attention_bias=True,
        max_position_embeddings=128, bos_token_id=1, eos_token_id=2, pad_token_id=0, initializer_range=0.15,
        tie_word_embeddings=False, rms_norm_eps=1e-5)
    model = transformers.Glm4ForCausalLM(config).float().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("_proj.bias"):
                parameter.normal_(0, 0.15)
            parameter.copy_(parameter.bfloat16().float())
    return model


def model_of(case):
    return new_pairs_model() if case.startswith("glm4_") else new_model()


def linears(model):
    return {name: module for name, module in model.named_modules()
            if isinstance(module, torch.nn.Linear) and name != "lm_head"}


def bf16(x):
    return x.bfloat16().float()


# What was written last of each matrix: codes less zero points and scales, columns group by group in an order.
CODED = {}


def remember(name, codes, scales, zeros, group_of):
    order = torch.argsort(group_of, stable=True)
    CODED[name] = ((codes - zeros[:, group_of])[:, order], scales, order)


# ---- codes: [n, k] unsigned, scales [n, groups], zeros [n, groups]
def encode(w, bits, group, symmetric, scale_type):
    n, k = w.shape
    group = k if group <= 0 else group
    blocks = torch.nn.functional.pad(w, (0, -k % group)).reshape(n, -1, group)
    top = 2 ** bits - 1
    if symmetric:
        scales = (blocks.abs().amax(-1) / (2 ** (bits - 1) - 1)).to(scale_type).float()
        zeros = torch.full_like(scales, 2 ** (bits - 1))
    else:
        low, high = blocks.amin(-1).clamp(max=0), blocks.amax(-1).clamp(min=0)
        scales = ((high - low) / top).to(scale_type).float()
        zeros = torch.round(-low / scales).clamp(0, top)
    codes = torch.round(blocks / scales[..., None] + zeros[..., None]).clamp(0, top)
    return codes.reshape(n, -1)[:, :k].to(torch.int64), scales, zeros.to(torch.int64)


def decode(codes, scales, zeros, group_of=None):
    n, k = codes.shape
    if group_of is None:
        group_of = torch.arange(k) // (k // scales.shape[1])
    return (codes - zeros[:, group_of]).float() * scales[:, group_of]


def pack(values, bits, order=None):
    """The last dimension, 32 / bits values to an int32, the first in the low bits."""
    count = 32 // bits
    padded = torch.nn.functional.pad(values, (0, -values.shape[-1] % count))
    parts = padded.reshape(*padded.shape[:-1], -1, count)
    if order is not None:
        parts = parts[..., order]
    word = sum(parts[..., i] << (bits * i) for i in range(count))
    return torch.where(word >= 2 ** 31, word - 2 ** 32, word).to(torch.int32)


AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]


def awq(name, w, out):
    codes, scales, zeros = encode(w, 4, GROUP, False, torch.float16)
    out[name + ".qweight"] = pack(codes.T.contiguous(), 4, AWQ_ORDER)
    out[name + ".qzeros"] = pack(zeros.T.contiguous(), 4, AWQ_ORDER)
    out[name + ".scales"] = scales.T.contiguous().half()
    remember(name, codes, scales, zeros, torch.arange(w.shape[1]) // GROUP)
    return bf16(decode(codes, scales, zeros))


def gptq(bits, group, less_one, reorders=False, has_positive=False):
    def write(name, w, out):
        if has_positive:  # rows whose zero points are 0
            w = torch.cat([w[::5].abs(), w[[i for i in range(len(w)) if i % 5]]])
        n, k = w.shape
        group_of = torch.arange(k) // (k if group <= 0 else group)
        order = torch.randperm(k, generator=torch.Generator().manual_seed(k)) if reorders else torch.arange(k)
        codes, scales, zeros = encode(w[:, order], bits, group, False, torch.float16)
        inverse = torch.argsort(order)
        codes, group_of = codes[:, inverse], group_of[inverse]
        out[name + ".qweight"] = pack(codes, bits).T.contiguous()
        # The first format takes 1 from each by subtracting whole words: zeros of 0 borrow.
        ones = sum(1 << (bits * i) for i in range(32 // bits)) if less_one else 0
        words = pack(zeros.T.contiguous(), bits).to(torch.int64) - ones
        out[name + ".qzeros"] = torch.where(words < -(2 ** 31), words + 2 ** 32, words).to(torch.int32)
        out[name + ".scales"] = scales.T.contiguous().half()
        out[name + ".g_idx"] = group_of.to(torch.int32)
        remember(name, codes, scales, zeros, group_of)
        return bf16(decode(codes, scales, zeros, group_of))
    return write


def packed(bits, group, symmetric, reorders=False):
    def write(name, w, out):
        n, k = w.shape
        order = torch.randperm(k, generator=torch.Generator().manual_seed(k)) if reorders else torch.arange(k)
        codes, scales, zeros = encode(w[:, order], bits, group, symmetric, torch.bfloat16)
        group_of = (torch.arange(k) // (k if group <= 0 else group))[torch.argsort(order)]
        codes = codes[:, torch.argsort(order)]
        out[name + ".weight_packed"] = pack(codes, bits)
        out[name + ".weight_scale"] = scales.bfloat16()
        out[name + ".weight_shape"] = torch.tensor([n, k])
        if not symmetric:
            out[name + ".weight_zero_point"] = pack(zeros.T.contiguous(), bits).T.contiguous()
        if reorders:
            out[name + ".weight_g_idx"] = group_of.to(torch.int32)
        remember(name, codes, scales, zeros, group_of)
        return bf16(decode(codes, scales, zeros, group_of))
    return write


def int8(name, w, out):
    scales = (w.abs().amax(1, keepdim=True) / 127).bfloat16()
    codes = torch.round(w / scales.float()).clamp(-127, 127)
    out[name + ".weight"] = codes.to(torch.int8)
    out[name + ".weight_scale"] = scales
    return codes, scales.float()


def float8(rows, columns, scale_name):
    """Scales for blocks of so many rows and columns; 0: for all of them."""
    def write(name, w, out):
        n, k = w.shape
        r, c = rows or n, columns or k
        grid = torch.zeros(-(-n // r), -(-k // c))
        for i in range(grid.shape[0]):
            for j in range(grid.shape[1]):
                grid[i, j] = w[i * r:(i + 1) * r, j * c:(j + 1) * c].abs().max() / 448
        wide = grid.repeat_interleave(r, 0)[:n].repeat_interleave(c, 1)[:, :k]
        codes = (w / wide).to(torch.float8_e4m3fn)
        out[name + ".weight"] = codes
        out[name + "." + scale_name] = grid if rows else grid.reshape(-1)
        return codes.float() * wide
    return write


def by_name(usual, special):
    """Matrices whose names end with a key of `special` are written by its value."""
    def write(name, w, out):
        return next((made for end, made in special.items() if name.endswith(end)), usual)(name, w, out)
    return write


# ---- products that round their input
def round_input(x, group):
    shape = x.shape
    x = x.reshape(*shape[:-1], -1, group)
    most = x.abs().amax(-1, keepdim=True)
    codes = torch.round(x * (127 / most))
    return codes, most / 127


class Rounding(torch.nn.Module):
    def __init__(self, codes, scales, group, order=None):  # codes [n, k] signed, scales [n, groups]
        super().__init__()
        self.codes, self.scales, self.group, self.order = codes.double(), scales.double(), group, order

    def forward(self, x):
        if self.order is not None:
            x = x[..., self.order]
        codes, x_scales = round_input(x, self.group)
        weights = self.codes.reshape(self.codes.shape[0], -1, self.group)
        sums = torch.einsum("...gk,ngk->...ng", codes.double(), weights)
        return (sums * x_scales.double().transpose(-1, -2) * self.scales).sum(-1).float()


# ---- while loading, by docs/develop/numerics.md
def from_floats(w, bits, group):
    n, k = w.shape
    group = group or k
    parts = w.reshape(n, -1, group)
    far = parts.gather(-1, parts.abs().argmax(-1, keepdim=True))
    if bits == "fp8":
        scales = far.abs() / 448
        return (parts * (1 / scales)).to(torch.float8_e4m3fn).float().reshape(n, k), scales[..., 0]
    scales = far.abs() / 127 if bits == 8 else bf16(far / -8)
    low, high = (-127, 127) if bits == 8 else (-8, 7)
    codes = torch.round(parts * (1 / scales)).clamp(low, high)
    return codes.reshape(n, k), scales[..., 0]


def quantize_while_loading(model, bits, group, rounds):
    for name, module in list(model.named_modules()):
        if not isinstance(module, torch.nn.Linear):
            continue
        is_head = name == "lm_head"
        head_bits = "fp8" if bits == "fp8" else 8
        codes, scales = from_floats(module.weight.data, head_bits if is_head else bits, 0 if is_head else group)
        width = codes.shape[1] // scales.shape[1]
        if rounds:
            parent = model.get_submodule(name.rpartition(".")[0])
            setattr(parent, name.rpartition(".")[2], Rounding(codes, scales, width))
        else:
            module.weight.data = bf16(codes * scales.repeat_interleave(width, 1))


# ---- keys and values of 8 bits, each token and head with a scale of its own
KV_TYPES = {"int8": (127, None), "fp8_e4m3": (448, torch.float8_e4m3fn), "fp8_e5m2": (57344, torch.float8_e5m2)}


def round_rows(x, last, dtype):
    most = x.abs().amax(-1, keepdim=True)
    scaled = x * (last / most)
    codes = torch.round(scaled) if dtype is None else scaled.to(dtype).float()
    return codes.double() * (most / last).double()


def rounded_attention(last, dtype):
    def attend(module, query, key, value, mask, scaling, dropout=0.0, **more):
        group = query.shape[1] // key.shape[1]
        key = round_rows(key, last, dtype).repeat_interleave(group, 1)
        value = round_rows(value, last, dtype).repeat_interleave(group, 1)
        scores = query.double() @ key.transpose(-1, -2) * scaling
        later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        weights = scores.masked_fill(later, -torch.inf).softmax(-1)
        return (weights @ value).float().transpose(1, 2).contiguous(), None
    return attend


def keep_kv_as(model, name):
    transformers.AttentionInterface.register("kv_" + name, rounded_attention(*KV_TYPES[name]))
    model.config._attn_implementation = "kv_" + name


@torch.no_grad()
def logits_of(model, tokens=TOKENS):
    return model(tokens[None]).logits[0].contiguous()


def compressed(fmt, weights, ignore, **more):
    return {"quant_method": "compressed-tensors", "format": fmt, "quantization_status": "compressed",
            "ignore": ["lm_head"] + ignore, "kv_cache_scheme": None,
            "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights,
                                          "input_activations": None, "output_activations": None, **more}}}


def integers(bits, group=None, symmetric=True, actorder=None):
    return {"num_bits": bits, "type": "int", "symmetric": symmetric, "dynamic": False, "actorder": actorder,
            "strategy": "group" if group else "channel", "group_size": group}


LEFT_OUT = ["model.layers.1.mlp.down_proj", "re:.*layers.0.self_attn.v_proj"]
TOKEN_INPUT = {"num_bits": 8, "type": "int", "symmetric": True, "dynamic": True, "strategy": "token"}
FLOATS = {"num_bits": 8, "type": "float", "symmetric": True, "dynamic": False}
CASES = {
    "awq": (awq, [], {"quant_method": "awq", "bits": 4, "group_size": GROUP, "zero_point": True,
                      "version": "gemm", "modules_to_not_convert": None}),
    "awq_left_out": (awq, ["layers.1.mlp.down_proj"],
                     {"quant_method": "awq", "bits": 4, "group_size": GROUP, "zero_point": True,
                      "version": "gemm", "modules_to_not_convert": ["layers.1.mlp.down_proj"]}),
    "gptq": (gptq(4, GROUP, 1), [], {"quant_method": "gptq", "bits": 4, "group_size": GROUP,
                                     "desc_act": False, "sym": False}),
    "gptq_rows": (gptq(4, -1, 1), [], {"quant_method": "gptq", "bits": 4, "group_size": -1, "desc_act": False}),
    "gptq_desc_act": (gptq(4, GROUP, 1, True), [], {"quant_method": "gptq", "bits": 4, "group_size": GROUP,
                                                    "desc_act": True}),
    # Groups of 64 in rows of 96: the last one is narrower.
    "gptq_uneven": (gptq(4, 64, 1, has_positive=True), [], {"quant_method": "gptq", "bits": 4, "group_size": 64, "format": "gptq",
                                         "desc_act": False, "dynamic": {"-:.*lm_head": {}}}),
    "gptq_8bit_v2": (gptq(8, GROUP, 0), [], {"quant_method": "gptq", "bits": 8, "group_size": GROUP,
                                             "checkpoint_format": "gptq_v2", "desc_act": False}),
    "w4a16": (packed(4, GROUP, True), LEFT_OUT, compressed("pack-quantized", integers(4, GROUP), LEFT_OUT)),
    "w4a16_zero_points": (packed(4, GROUP, False), [],
                          compressed("pack-quantized", integers(4, GROUP, False), [])),
    "w4a16_actorder": (packed(4, GROUP, True, True), [],
                       compressed("pack-quantized", integers(4, GROUP, True, "group"), [])),
    "w8a16": (packed(8, 0, True), [], compressed("pack-quantized", integers(8), [])),
    "w8a8": (int8, [], compressed("int-quantized", integers(8), [], input_activations=TOKEN_INPUT)),
    "fp8_rows": (float8(1, 0, "weight_scale"), [],
                 compressed("float-quantized", dict(FLOATS, strategy="channel"), [],
                            input_activations=dict(TOKEN_INPUT, type="float"))),
    "fp8_tensor": (float8(0, 0, "weight_scale"), [], {"quant_method": "fp8", "activation_scheme": "dynamic"}),
    "fp8_blocks": (float8(32, 64, "weight_scale_inv"), [],
                   {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [32, 64]}),
    # Some matrices have a format of their own.
    "auto_round_mixed": (by_name(gptq(4, GROUP, 1), {"layers.1.mlp.down_proj": gptq(8, -1, 1), "o_proj": gptq(4, 64, 1)}),
                         ["layers.0.self_attn.v_proj"],
                         {"quant_method": "auto-round", "bits": 4, "group_size": GROUP, "sym": False, "data_type": "int",
                          "packing_format": "auto_round:auto_gptq",
                          "extra_config": {"model.layers.1.mlp.down_proj": {"bits": 8, "group_size": -1},
                                           "model.layers.0.self_attn.v_proj": {"bits": 16, "data_type": "float"},
                                           ".*o_proj": {"group_size": 64}}}),
    "gptq_mixed": (by_name(gptq(4, GROUP, 1), {"down_proj": gptq(8, GROUP, 1, True), "layers.0.mlp.up_proj": gptq(8, -1, 1)}),
                   [], {"quant_method": "gptq", "bits": 4, "group_size": GROUP, "desc_act": False,
                        "dynamic": {"+:.*down_proj": {"bits": 8, "desc_act": True}, "-:.*lm_head": {},
                                    ".*\\.0\\.mlp\\.up": {"bits": 8, "group_size": -1}}}),
    "packed_and_fp8": (by_name(packed(4, GROUP, True), {"down_proj": float8(1, 0, "weight_scale"),
                                                        "layers.1.self_attn.q_proj": packed(8, 0, True)}), [],
                       {"quant_method": "compressed-tensors", "format": "mixed-precision", "ignore": ["lm_head"],
                        "config_groups": {
                            "group_0": {"targets": ["Linear"], "format": "pack-quantized", "weights": integers(4, GROUP)},
                            "group_1": {"targets": ["re:.*down_proj$"], "format": "float-quantized",
                                        "weights": dict(FLOATS, strategy="channel"),
                                        "input_activations": dict(TOKEN_INPUT, type="float")},
                            "group_2": {"targets": ["model.layers.1.self_attn.q_proj"], "format": "pack-quantized",
                                        "weights": integers(8)}}}),
    "modelopt_fp8": (float8(0, 0, "weight_scale"), [],
                     {"quant_method": "modelopt", "quant_algo": "FP8", "ignore": ["lm_head"],
                      "kv_cache_scheme": {"dynamic": False, "num_bits": 8, "type": "float"}}),
}
for name in ("awq", "gptq_desc_act", "w4a16_zero_points", "fp8_blocks"):
    CASES["glm4_" + name] = CASES[name]
WHILE_LOADING = {"w8a8_int8": (8, 0, True), "w8a16": (8, 0, False), "int4": (4, 32, False), "w4a8": (4, 32, True),
                 "fp8": ("fp8", 0, False)}

# Stored codes whose products round their input because a name asks for it.
ROUNDED = {"awq": "w4a8", "gptq_desc_act": "w4a8", "w8a16": "w8a8_int8"}


def is_left_out(name, left_out):
    return any(name.endswith(part.removeprefix("re:.*")) for part in left_out)


def write_case(folder, name, write, left_out, settings):
    model = model_of(name)
    tensors = {}
    modules = linears(model)
    taken = set()
    for path, module in modules.items():
        if is_left_out(path, left_out):
            continue
        taken.add(path + ".weight")
        made = write(path, module.weight.data, tensors)
        if isinstance(made, tuple):
            parent = model.get_submodule(path.rpartition(".")[0])
            setattr(parent, path.rpartition(".")[2], Rounding(*made, made[0].shape[1]))
        else:
            module.weight.data = made
    for path, parameter in model_of(name).named_parameters():
        if path not in taken:
            tensors[path] = parameter.data.bfloat16()
    # With columns in that order an input of the first token lies between two codes.
    tokens = TOKENS[1:] if name.endswith("gptq_desc_act") else TOKENS
    logits = {"logits": logits_of(model, tokens)}
    if name in ROUNDED:
        round_inputs(model)
        logits[ROUNDED[name]] = logits_of(model, tokens)
    save(folder / name, model.config, settings, tensors, logits, tokens)


def round_inputs(model):
    """The codes that were written, their input rounded; the output matrix in 8 bits, made while loading."""
    for path in linears(model):
        codes, scales, order = CODED[path]
        parent = model.get_submodule(path.rpartition(".")[0])
        setattr(parent, path.rpartition(".")[2], Rounding(codes, scales, codes.shape[1] // scales.shape[1], order))
    codes, scales = from_floats(model.lm_head.weight.data, 8, 0)
    model.lm_head = Rounding(codes, scales, codes.shape[1])


def save(folder, config, settings, tensors, logits, tokens=TOKENS):
    folder.mkdir(parents=True)
    text = config.to_dict()
    architecture = "Glm4ForCausalLM" if config.model_type == "glm4" else "LlamaForCausalLM"
    text |= {"architectures": [architecture], "dtype": "bfloat16"}
    if settings:
        text["quantization_config"] = settings
    (folder / "config.json").write_text(json.dumps(text, indent=1, sort_keys=True) + "\n")
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, folder / "model.safetensors")
    save_file({"tokens": tokens.contiguous()} | logits, folder / "logits.safetensors")


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2] / "tests/golden")
    folder = root / "quantized"
    shutil.rmtree(folder, ignore_errors=True)
    for name, case in CASES.items():
        write_case(folder, name, *case)
    logits = {}
    for name, (bits, group, rounds) in WHILE_LOADING.items():
        model = new_model()
        quantize_while_loading(model, bits, group, rounds)
        logits[name] = logits_of(model)
    for name in KV_TYPES:
        model = new_model()
        keep_kv_as(model, name)
        logits["kv_" + name] = logits_of(model)
    model = new_model()
    tensors = {path: parameter.data.bfloat16() for path, parameter in model.named_parameters()}
    save(folder / "floats", model.config, None, tensors, logits)


main()
