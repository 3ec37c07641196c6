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

from made_up_gguf import Q4_K, Q6_K, add_matrix, add_norm, add_shape, add_tokenizer, matrix, rng, write

HIDDEN, WIDTH, HEADS, KV_HEADS, HEAD, EXPERTS, CHOSEN = 2048, 768, 32, 4, 128, 128, 8


def add_metadata(writer, layers):
    add_shape(writer, layers, HIDDEN, 3 * HIDDEN, HEADS, KV_HEADS, HEAD, theta=1e6)
    writer.add_expert_count(EXPERTS)
    writer.add_expert_used_count(CHOSEN)
    writer.add_expert_feed_forward_length(WIDTH)


def main():
    source, out = sys.argv[1:3]
    layers = int(sys.argv[3]) if len(sys.argv) > 3 else 12
    writer = gguf.GGUFWriter(out, "qwen3moe")
    vocab = add_tokenizer(writer, source)
    add_metadata(writer, layers)
    embedding = matrix(Q6_K, vocab, HIDDEN)
    add_matrix(writer, "token_embd", embedding)
    add_matrix(writer, "output", embedding)
    add_norm(writer, "output_norm", HIDDEN)
    # All layers have the same matrices; where they lie is what memory feels.
    matrices = {"attn_q": matrix(Q4_K, HEADS * HEAD, HIDDEN), "attn_k": matrix(Q4_K, KV_HEADS * HEAD, HIDDEN),
                "attn_v": matrix(Q6_K, KV_HEADS * HEAD, HIDDEN), "attn_output": matrix(Q4_K, HIDDEN, HEADS * HEAD),
                "ffn_gate_exps": matrix(Q4_K, EXPERTS, WIDTH, HIDDEN),
                "ffn_up_exps": matrix(Q4_K, EXPERTS, WIDTH, HIDDEN)}
    down = [matrix(kind, EXPERTS, HIDDEN, WIDTH) for kind in (Q6_K, Q4_K)]
    for layer in range(layers):
        prefix = f"blk.{layer}."
        for name, width in {"attn_norm": HIDDEN, "ffn_norm": HIDDEN, "attn_q_norm": HEAD, "attn_k_norm": HEAD}.items():
            add_norm(writer, prefix + name, width)
        for name, made in matrices.items():
            add_matrix(writer, prefix + name, made)
        add_matrix(writer, prefix + "ffn_down_exps", down[layer % 2])
        router = rng.normal(0, 0.3, (EXPERTS, HIDDEN)).astype(numpy.float32)
        writer.add_tensor(prefix + "ffn_gate_inp.weight", router)
    write(writer)


if __name__ == "__main__":
    main()
