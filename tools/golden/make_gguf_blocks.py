#!/usr/bin/env python3
"""Writes tests/golden/gguf/blocks.bin: blocks of every GGUF type that is read, of random bytes, and what gguf-py's
dequantize() makes of them. Needs numpy and the package gguf.

For each type: its number, the number of elements, the number of bytes of its blocks, 0 (32 bits each), the blocks, the
elements as float32.
"""
import pathlib
import struct

import gguf
import numpy
from gguf.quants import dequantize

OUT = pathlib.Path(__file__).parents[2] / "tests/golden/gguf/blocks.bin"
# Where the halves of a block lie that are its scale and its minimum.
HALVES = {"F16": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82],
          "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0], "MXFP4": []}
SUBNORMAL = 0x0003
rng = numpy.random.default_rng(20)


def finite_half():
    while True:
        half = int(rng.integers(0, 1 << 16))
        if half >> 10 & 31 != 31:
            return half


def blocks_of(name):
    kind = gguf.GGMLQuantizationType[name]
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    count = 3 if elements > 1 else 8
    if name in ("F32", "BF16"):
        floats = rng.normal(size=count).astype(numpy.float32)
        words = floats if name == "F32" else (floats.view(numpy.uint32) >> 16).astype(numpy.uint16)
        return words.view(numpy.uint8).reshape(count, size)
    raw = rng.integers(0, 256, size=(count, size), dtype=numpy.uint8)
    for block in raw:
        for at in HALVES[name]:
            block[at:at + 2] = numpy.array([finite_half()], numpy.uint16).view(numpy.uint8)
    if name == "MXFP4":  # exponents of scales that float16 has
        raw[:, 0] = [104, 120, 143]
        return raw
    at = HALVES[name][0]
    raw[0, at:at + 2] = numpy.array([SUBNORMAL], numpy.uint16).view(numpy.uint8)
    return raw


def main():
    file = bytearray()
    for name in ["F32", "BF16", *HALVES]:
        kind = gguf.GGMLQuantizationType[name]
        raw = blocks_of(name)
        plain = {"F32": numpy.float32, "F16": numpy.float16}.get(name, numpy.uint8)
        floats = dequantize(raw.reshape(1, -1).view(plain), kind).astype(numpy.float32).reshape(-1)
        assert floats.size == raw.shape[0] * gguf.GGML_QUANT_SIZES[kind][0] and numpy.isfinite(floats).all()
        file += struct.pack("<IIII", kind, floats.size, raw.size, 0) + raw.tobytes() + floats.tobytes()
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_bytes(file)


if __name__ == "__main__":
    main()
