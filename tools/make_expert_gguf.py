#!/usr/bin/env python3
"""Writes a GGUF file of made-up weights in the shape of Qwen3-30B-A3B, with fewer layers, for measurements beside
llama.cpp: Q4_K matrices, Q6_K for the output matrix, values and half of the down matrices, as Q4_K_M has them.

    pip install gguf numpy
    tools/make_expert_gguf.py TOKENIZER.gguf OUT.gguf [layers]

The tokenizer is that of another GGUF file. 12 layers are 5 GB.
"""
import sys

import gguf
import numpy

HIDDEN, WIDTH, HEADS, KV_HEADS, HEAD, EXPERTS, CHOSEN = 2048, 768, 32, 4, 128, 128, 8
Q4_K, Q6_K = gguf.GGMLQuantizationType.Q4_K, gguf.GGMLQuantizationType.Q6_K
# Bytes of a block of 256, where its scales of scales lie, and those scales in bytes of one value.
KINDS = {Q4_K: (144, slice(4, 16), 0x69), Q6_K: (210, slice(192, 208), 40)}
SPREAD = 0.02  # of weights
rng = numpy.random.default_rng(1)


def halves(value, count):
    return numpy.full(count, value, numpy.float16).view(numpy.uint8).reshape(count, 2)


def matrix(kind, *shape):
    size, scales, byte = KINDS[kind]
    count = int(numpy.prod(shape)) // 256
    blocks = rng.integers(0, 256, size=(count, size), dtype=numpy.uint8)
    blocks[:, scales] = byte
    if kind == Q4_K:  # codes 0 to 15 around their middle
        blocks[:, 0:2], blocks[:, 2:4] = halves(SPREAD / 320, count), halves(SPREAD / 320 * 7.5, count)
    else:
        blocks[:, 208:210] = halves(SPREAD / 720, count)
    return kind, blocks.reshape(*shape[:-1], shape[-1] // 256 * size)


def add_metadata(writer, source, layers):
    for field in gguf.GGUFReader(source).fields.values():
        if field.name.startswith("tokenizer."):
            value, kind = field.contents(), field.types[0]
            if kind == gguf.GGUFValueType.ARRAY:
                writer.add_array(field.name, value)
            else:
                writer.add_key_value(field.name, value, kind)
            if field.name == "tokenizer.ggml.tokens":
                vocab = len(value)
    writer.add_block_count(layers)
    writer.add_context_length(32768)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(3 * HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_key_length(HEAD)
    writer.add_value_length(HEAD)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1e6)
    writer.add_expert_count(EXPERTS)
    writer.add_expert_used_count(CHOSEN)
    writer.add_expert_feed_forward_length(WIDTH)
    return vocab


def main():
    source, out = sys.argv[1:3]
    layers = int(sys.argv[3]) if len(sys.argv) > 3 else 12
    writer = gguf.GGUFWriter(out, "qwen3moe")
    vocab = add_metadata(writer, source, layers)

    def add(name, made):
        writer.add_tensor(f"{name}.weight", made[1], raw_dtype=made[0])

    def add_norm(name, width):
        writer.add_tensor(f"{name}.weight", numpy.ones(width, numpy.float32))

    embedding = matrix(Q6_K, vocab, HIDDEN)
    add("token_embd", embedding)
    add("output", embedding)
    add_norm("output_norm", HIDDEN)
    # All layers have the same matrices; where they lie is what memory feels.
    matrices = {"attn_q": matrix(Q4_K, HEADS * HEAD, HIDDEN), "attn_k": matrix(Q4_K, KV_HEADS * HEAD, HIDDEN),
                "attn_v": matrix(Q6_K, KV_HEADS * HEAD, HIDDEN), "attn_output": matrix(Q4_K, HIDDEN, HEADS * HEAD),
                "ffn_gate_exps": matrix(Q4_K, EXPERTS, WIDTH, HIDDEN),
                "ffn_up_exps": matrix(Q4_K, EXPERTS, WIDTH, HIDDEN)}
    down = [matrix(kind, EXPERTS, HIDDEN, WIDTH) for kind in (Q6_K, Q4_K)]
    for layer in range(layers):
        prefix = f"blk.{layer}."
        for name, width in {"attn_norm": HIDDEN, "ffn_norm": HIDDEN, "attn_q_norm": HEAD, "attn_k_norm": HEAD}.items():
            add_norm(prefix + name, width)
        for name, made in matrices.items():
            add(prefix + name, made)
        add(prefix + "ffn_down_exps", down[layer % 2])
        router = rng.normal(0, 0.3, (EXPERTS, HIDDEN)).astype(numpy.float32)
        writer.add_tensor(prefix + "ffn_gate_inp.weight", router)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()


if __name__ == "__main__":
    main()
