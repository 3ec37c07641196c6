"""What the writers of GGUF files of made-up weights share: matrices of blocks whose codes are random, and the
tokenizer of another file. Stateless, but for the source of random numbers.
"""
import gguf
import numpy

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


def add_matrix(writer, name, made):
    writer.add_tensor(f"{name}.weight", made[1], raw_dtype=made[0])


def add_norm(writer, name, width):
    writer.add_tensor(f"{name}.weight", numpy.ones(width, numpy.float32))


def add_shape(writer, layers, hidden, width, heads, kv_heads, head, theta):
    """What every decoder says of itself."""
    writer.add_block_count(layers)
    writer.add_context_length(32768)
    writer.add_embedding_length(hidden)
    writer.add_feed_forward_length(width)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_key_length(head)
    writer.add_value_length(head)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(theta)


def add_tokenizer(writer, source):
    """Copies the tokenizer of the file `source`; returns how many tokens it has."""
    vocab = 0
    for field in gguf.GGUFReader(source).fields.values():
        if not field.name.startswith("tokenizer."):
            continue
        value, kind = field.contents(), field.types[0]
        if kind == gguf.GGUFValueType.ARRAY:
            writer.add_array(field.name, value)
        else:
            writer.add_key_value(field.name, value, kind)
        if field.name == "tokenizer.ggml.tokens":
            vocab = len(value)
    return vocab


def write(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
