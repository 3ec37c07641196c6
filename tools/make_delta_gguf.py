#!/usr/bin/env python3
"""Writes a GGUF file of made-up weights in the shape of Qwen3.5-4B, with fewer layers, for measurements of Gated
DeltaNet beside llama.cpp: three layers of it to one of attention, Q4_K matrices, Q6_K for the output matrix, values
and half of the down matrices.

    pip install gguf numpy
    tools/make_delta_gguf.py TOKENIZER.gguf OUT.gguf [layers]

The tokenizer is that of another GGUF file. 12 layers are 0.9 GB.
"""
import sys

import gguf
import numpy

from made_up_gguf import Q4_K, Q6_K, add_matrix, add_norm, add_shape, add_tokenizer, matrix, rng, write

HIDDEN, WIDTH, HEADS, KV_HEADS, HEAD, ROTATED = 2560, 9216, 16, 4, 256, 64
KEY_HEADS, VALUE_HEADS, STATE, TAPS, INTERVAL = 16, 32, 128, 4, 4
KEYS, VALUES = KEY_HEADS * STATE, VALUE_HEADS * STATE


def add_metadata(writer, layers):
    add_shape(writer, layers, HIDDEN, WIDTH, HEADS, KV_HEADS, HEAD, theta=1e7)
    writer.add_rope_dimension_count(ROTATED)
    writer.add_rope_dimension_sections([11, 11, 10, 0])
    writer.add_ssm_conv_kernel(TAPS)
    writer.add_ssm_state_size(STATE)
    writer.add_ssm_group_count(KEY_HEADS)
    writer.add_ssm_time_step_rank(VALUE_HEADS)
    writer.add_ssm_inner_size(VALUES)
    writer.add_full_attention_interval(INTERVAL)


def add_vectors(writer, prefix):
    """What keeps a state besides matrices: decays are between those of a few and of hundreds of tokens."""
    add_norm(writer, prefix + "ssm_norm", STATE)
    vectors = {"ssm_conv1d.weight": rng.normal(0, 0.5, (2 * KEYS + VALUES, TAPS)),
               "ssm_dt.bias": rng.uniform(-4, 1, VALUE_HEADS), "ssm_a": -rng.uniform(0.2, 1, VALUE_HEADS)}
    for name, values in vectors.items():
        writer.add_tensor(prefix + name, values.astype(numpy.float32))


def main():
    source, out = sys.argv[1:3]
    layers = int(sys.argv[3]) if len(sys.argv) > 3 else 12
    writer = gguf.GGUFWriter(out, "qwen35")
    vocab = add_tokenizer(writer, source)
    add_metadata(writer, layers)
    add_matrix(writer, "token_embd", matrix(Q6_K, vocab, HIDDEN))
    add_norm(writer, "output_norm", HIDDEN)
    # All layers have the same matrices; where they lie is what memory feels.
    states = {"attn_qkv": matrix(Q4_K, 2 * KEYS + VALUES, HIDDEN), "attn_gate": matrix(Q4_K, VALUES, HIDDEN),
              "ssm_alpha": matrix(Q4_K, VALUE_HEADS, HIDDEN), "ssm_beta": matrix(Q4_K, VALUE_HEADS, HIDDEN),
              "ssm_out": matrix(Q4_K, HIDDEN, VALUES)}
    attention = {"attn_q": matrix(Q4_K, 2 * HEADS * HEAD, HIDDEN), "attn_k": matrix(Q4_K, KV_HEADS * HEAD, HIDDEN),
                 "attn_v": matrix(Q6_K, KV_HEADS * HEAD, HIDDEN), "attn_output": matrix(Q4_K, HIDDEN, HEADS * HEAD)}
    mlp = {"ffn_gate": matrix(Q4_K, WIDTH, HIDDEN), "ffn_up": matrix(Q4_K, WIDTH, HIDDEN)}
    down = [matrix(kind, HIDDEN, WIDTH) for kind in (Q6_K, Q4_K)]
    for layer in range(layers):
        prefix = f"blk.{layer}."
        has_attention = layer % INTERVAL == INTERVAL - 1
        for name in ("attn_norm", "post_attention_norm"):
            add_norm(writer, prefix + name, HIDDEN)
        if has_attention:
            for name in ("attn_q_norm", "attn_k_norm"):
                add_norm(writer, prefix + name, HEAD)
        else:
            add_vectors(writer, prefix)
        for name, made in {**(attention if has_attention else states), **mlp, "ffn_down": down[layer % 2]}.items():
            add_matrix(writer, prefix + name, made)
    write(writer)


if __name__ == "__main__":
    main()
