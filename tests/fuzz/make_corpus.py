#!/usr/bin/env python3
"""Writes the first inputs of each fuzz target to tests/fuzz/corpus/<target>/. They are kept in the tree,
so this runs only when a format is added; inputs that a fuzzer found lie beside them under names that
begin with "found_".
"""
import json
import pathlib
import pickle
import struct

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
TORCH = ROOT / "tests/golden/torch"


def put(target, name, data):
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())


def safetensors(header, data=b""):
    text = (header if isinstance(header, str) else json.dumps(header)).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def make_safetensors():
    files = {
        "two": safetensors({"a": entry("F32", [2, 1], 0, 8), "b": entry("BF16", [3], 8, 14),
                            "__metadata__": {"format": "pt"}}, bytes(14)),
        "odd_offset": safetensors({"a": entry("U8", [1], 0, 1), "b": entry("F16", [2], 1, 5)}, bytes(5)),
        "scalar": safetensors({"s": entry("I64", [], 0, 8)}, bytes(8)),
        "twice": safetensors('{"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]},'
                             '"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]}}', bytes(1)),
        "escaped": safetensors('{"a\\"\\u0041":{"dtype":"BOOL","shape":[0],"data_offsets":[0,0]}}'),
        "huge_shape": safetensors({"a": entry("F64", [1 << 40, 1 << 40], 0, 8)}, bytes(8)),
        "empty": safetensors({}),
        "truncated": safetensors({"a": entry("F32", [2], 0, 8)}, bytes(3)),
    }
    for name, data in files.items():
        put("safetensors", name, data)
        put("checkpoint", name + ".safetensors", data)


TYPES = {"u8": (0, "B"), "u32": (4, "I"), "i32": (5, "i"), "f32": (6, "f"), "bool": (7, "?")}
TEXT, LIST = 8, 9


def gguf_text(value):
    return struct.pack("<Q", len(value.encode())) + value.encode()


def gguf_value(value):
    """A text, a list of texts, or (type, number), or (type, [numbers])."""
    if isinstance(value, str):
        return struct.pack("<I", TEXT) + gguf_text(value)
    if isinstance(value, list):
        return struct.pack("<IIQ", LIST, TEXT, len(value)) + b"".join(map(gguf_text, value))
    number, code = TYPES[value[0]]
    if isinstance(value[1], list):
        return struct.pack(f"<IIQ{len(value[1])}{code}", LIST, number, len(value[1]), *value[1])
    return struct.pack("<I" + code, number, value[1])


def gguf(keys, tensors=(), version=3):
    """tensors: (name, type, sizes with the fastest first, bytes)."""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(keys))
    head += b"".join(gguf_text(key) + gguf_value(value) for key, value in keys.items())
    data = b""
    for name, kind, sizes, content in tensors:
        data += bytes(-len(data) % 32)
        head += gguf_text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, kind, len(data))
        data += content
    return head + bytes(-len(head) % 32) + data


def make_gguf():
    sizes = {"block_count": 1, "context_length": 64, "embedding_length": 32, "feed_forward_length": 32,
             "attention.head_count": 2, "attention.head_count_kv": 1}
    llama = {"general.architecture": "llama", **{"llama." + key: ("u32", size) for key, size in sizes.items()},
             "llama.attention.layer_norm_rms_epsilon": ("f32", 1e-5)}
    bytes_level = {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "llama-bpe",
                   "tokenizer.ggml.tokens": ["a", "b", "ab", "<|end|>"],
                   "tokenizer.ggml.token_type": ("i32", [1, 1, 1, 3]), "tokenizer.ggml.merges": ["a b"],
                   "tokenizer.ggml.bos_token_id": ("u32", 3), "tokenizer.ggml.eos_token_id": ("u32", 3),
                   "tokenizer.chat_template": "{{ messages }}", "tokenizer.chat_template.tool_use": "{{ tools }}"}
    pieces = {"tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": ["<unk>", "<s>", "</s>", "<0x41>", "a"],
              "tokenizer.ggml.scores": ("f32", [0, 0, 0, 0, -1.5]),
              "tokenizer.ggml.token_type": ("i32", [2, 3, 3, 6, 1]),
              "tokenizer.ggml.add_space_prefix": ("bool", False)}
    embedding = ("token_embd.weight", 8, (32, 4), bytes(136))
    query = ("blk.0.attn_q.weight", 2, (32, 32), bytes(18 * 32))
    gemma = {key.replace("llama.", "gemma2."): value for key, value in llama.items()}
    factors = ("rope_freqs.weight", 0, (8,), struct.pack("<8f", *range(1, 9)))
    files = {"byte_level": gguf({**llama, **bytes_level}, [embedding, query, factors]),
             "pieces": gguf({**llama, **pieces}, [embedding, ("blk.0.attn_q.bias", 30, (32,), bytes(64))], 2),
             "norms": gguf({**gemma, "general.architecture": "gemma2", **pieces},
                           [("blk.0.attn_norm.weight", 0, (32,), bytes(128)), ("odd", 12, (256,), bytes(144))]),
             "yarn": gguf({**llama, **pieces, "llama.rope.scaling.type": "yarn", "llama.rope.scaling.factor": ("f32", 4.0),
                           "llama.rope.scaling.original_context_length": ("u32", 32)}),
             "foreign": gguf({"general.architecture": "clip"}, [("x", 16, (256,), bytes(66))]),
             "split": gguf({**llama, "split.count": ("u32", 2), "split.no": ("u32", 0)}),
             "alignment": gguf({"general.alignment": ("u32", 64)}, [("x", 0, (1,), bytes(4))]),
             "empty": gguf({}), "big_endian": b"GGUF" + struct.pack(">IQQ", 3, 0, 0),
             "many_tensors": b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 0),
             "many_texts": gguf({"k": []})[:-8] + struct.pack("<Q", 1 << 61)}
    files["cut"] = files["byte_level"][:-300]
    for name, data in files.items():
        put("gguf", name, data)


def make_torch():
    for file in sorted(TORCH.iterdir()):
        data = file.read_bytes()
        put("torch_file", file.name, data)
        put("checkpoint", file.name, data)
        if file.suffix == ".pt":
            put("token_map", file.name, data)
        if data.startswith(b"PK"):
            put("zip", file.name, data)
    objects = {"list": [1, 2, 3], "dict": {"a": 1.5, "b": (None, True, b"x")}, "deep": [[[[()]]]],
               "big": [1 << 70, -1, 1 << 31], "text": "h\u00e9llo" * 60, "shared": [[]] * 3}
    for name, value in objects.items():
        for protocol in (2, 4, 5):
            put("pickle", f"{name}_{protocol}", pickle.dumps(value, protocol))
    for name, text in {"list": "[1, 2, 999]", "empty": "[]", "twice": "[1, 1]", "outside": "[1000]",
                       "float": "[1.5]", "object": '{"a": 1}'}.items():
        put("token_map", name + ".json", text)


def make_configs():
    for folder in sorted((ROOT / "tests/golden/checkpoints").iterdir()):
        put("model_config", folder.name, (folder / "config.json").read_bytes())
    put("model_config", "overrides",
        (ROOT / "tests/golden/checkpoints/llama/config.json").read_text().strip()
        + '\n===\n{"rope_scaling": {"rope_type": "yarn", "factor": 4.0, '
          '"original_max_position_embeddings": 4096}}')
    put("model_config", "generation", '{"temperature": 0.6, "top_k": 20, "top_p": 0.95, "eos_token_id": [1, 2]}')


def tokenizer(model, **parts):
    value = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
             "pre_tokenizer": None, "post_processor": None, "decoder": None, "model": model}
    value.update(parts)
    return json.dumps(value)


def added(i, content, special=True):
    return {"id": i, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": False, "special": special}


def make_tokenizers():
    letters = {c: i for i, c in enumerate("Helo,wrd\u0120!abc")}
    bpe = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
           "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
           "vocab": letters | {"He": 20, "lo": 21}, "merges": ["H e", "l o"]}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    put("tokenizer_json", "byte_level",
        tokenizer(bpe, pre_tokenizer=byte_level, decoder=byte_level, added_tokens=[added(30, "<s>")])
        + '\n===\n{"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": true}, "add_bos_token": true}')
    fallback = {f"<0x{i:02X}>": i + 3 for i in range(256)} | {"<unk>": 0, "<s>": 1, "</s>": 2, "\u2581H": 259}
    put("tokenizer_json", "byte_fallback",
        tokenizer({**bpe, "unk_token": "<unk>", "byte_fallback": True, "vocab": fallback, "merges": []},
                  normalizer={"type": "Sequence", "normalizers": [
                      {"type": "Prepend", "prepend": "\u2581"},
                      {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]},
                  decoder={"type": "Sequence", "decoders": [
                      {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
                      {"type": "ByteFallback"}, {"type": "Fuse"},
                      {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
                  post_processor={"type": "TemplateProcessing",
                                  "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                                             {"Sequence": {"id": "A", "type_id": 0}}],
                                  "pair": [{"Sequence": {"id": "A", "type_id": 0}}],
                                  "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}},
                  added_tokens=[added(0, "<unk>"), added(1, "<s>"), added(2, "</s>")]))
    put("tokenizer_json", "unigram",
        tokenizer({"type": "Unigram", "unk_id": 0, "byte_fallback": False,
                   "vocab": [["<unk>", 0.0], ["\u2581", -1.0], ["He", -2.0], ["l", -2.5], ["o", -2.5]]},
                  pre_tokenizer={"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always"},
                  decoder={"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always"}))
    put("tokenizer_json", "word_piece",
        tokenizer({"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                   "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "hel": 1, "##lo": 2, "[CLS]": 3}},
                  normalizer={"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                              "strip_accents": None, "lowercase": True},
                  pre_tokenizer={"type": "BertPreTokenizer"}, decoder={"type": "WordPiece", "prefix": "##",
                                                                       "cleanup": True}))
    put("tokenizer_json", "split_regex",
        tokenizer(bpe, pre_tokenizer={"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": r"\p{N}{1,3}|[^\s\p{L}]+|\s+(?!\S)|\s+"},
             "behavior": "Isolated", "invert": False}, byte_level]}, decoder=byte_level))


def field(number, wire, payload):
    return varint(number << 3 | wire) + (varint(len(payload)) + payload if wire == 2 else payload)


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def piece(text, score, kind):
    return field(1, 2, field(1, 2, text.encode()) + field(2, 5, struct.pack("<f", score))
                 + field(3, 0, varint(kind)))


def make_sentencepiece():
    base = piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3)
    words = b"".join(piece(t, -float(i), 1) for i, t in enumerate(["\u2581", "H", "e", "He", "\u2581He", "l", "o"]))
    trained = field(2, 2, field(3, 0, varint(2)) + field(35, 0, varint(1)))
    some_bytes = b"".join(piece(f"<0x{i:02X}>", 0, 6) for i in range(256))
    put("sentencepiece", "bpe", base + words + trained)
    put("sentencepiece", "bpe_bytes", base + some_bytes + words + trained)
    put("sentencepiece", "unigram", base + words)
    put("sentencepiece", "user_defined", base + words + piece("<x>", 0, 4) + piece("u", 0, 5) + trained)
    put("sentencepiece", "truncated", (base + words)[:-3])
    put("sentencepiece", "normalizer", base + words + field(3, 2, field(1, 2, b"identity") + field(3, 0, b"\1")) + trained)


def make_templates():
    for file in sorted((ROOT / "src/text/testdata/templates").iterdir()):
        put("chat_template", file.stem, file.read_bytes())
    small = {
        "loop": "{% for m in messages %}{{ loop.index }}:{{ m.role|upper }} {{ m['content'] }}\n{% endfor %}",
        "macro": "{% macro f(x, y=1) %}[{{ x }},{{ y }}]{% endmacro %}{{ f(2) }}{{ f(x=3, y=f(4)) }}",
        "recursion": "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}",
        "endless": "{% for i in range(1000000000) %}{% for j in range(1000000000) %}x{% endfor %}{% endfor %}",
        "growth": "{% set ns = namespace(x='aaaaaaaa') %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x }}",
        "numbers": "{{ 1 // 0 if false else 7 // 2 }} {{ 2 ** 62 }} {{ -7 % 3 }} {{ 1.5 | round }} {{ '5' | int + 1 }}",
        "slices": "{{ messages[1:][::-1] | map(attribute='role') | join(', ') }}{{ 'abc'[-2:] }}{{ 'x' * 5 }}",
        "methods": "{{ ' a b '.strip().split(' ')[-1].title().replace('B', '\u00e9').startswith('\u00e9') }}",
        "raise": "{{ raise_exception('no: ' + bos_token) }}",
        "json": "{{ tools | tojson(indent=2) }}{{ strftime_now('%Y-%m-%d') }}",
        "broken": "{% for m in messages %}{{ m.content",
        "request": "{{ bos_token }}{{ messages[0].content }}{{ x }}\n===\n"
                   '{"messages": [{"role": "user", "content": [{"type": "text", "text": "\u00e9"}]}], '
                   '"chat_template_kwargs": {"x": [1, 2.5, null]}, "continue_final_message": true}',
    }
    for name, text in small.items():
        put("chat_template", name, text)


# The styles in the order of call_style.cc and reasoning_style.cc; the number after them is the count.
CALLS = ["llama3", "llama4", "qwen25", "qwen", "qwen3_coder", "hermes", "mistral", "pythonic", "deepseekv3",
         "deepseekv31", "kimi_k2", "glm45", "gpt-oss", "step3", "minimax-m2", ""]
REASONINGS = ["deepseek-r1", "deepseek-v3", "glm45", "gpt-oss", "kimi", "kimi_k2", "minimax", "qwen3",
              "qwen3-thinking", "step3", ""]


def make_answers():
    args = '{"a": "x\\n\\"y", "b": 5, "c": {"d": [1, null]}}'
    calls = {
        "llama3": '<|python_tag|>{"name": "f", "parameters": %s}; {"name": "g", "parameters": {}}' % args,
        "llama4": "<|python_start|>[f(a='x', b=None, c={'d': (1,)}), g()]<|python_end|>",
        "qwen25": 'Text <tool_call>\n{"name": "f", "arguments": %s}\n</tool_call>\n<tool_call>{"name": "g"}' % args,
        "qwen3_coder": "<tool_call>\n<function=f>\n<parameter=a>\nx\n</parameter>\n<parameter=b>\n5\n</parameter>\n"
                       "</function>\n</tool_call>",
        "mistral": '[TOOL_CALLS] [{"name": "f", "arguments": %s, "id": "abcdefghi"}]' % args,
        "pythonic": "[f(a=\"x\", b=-1_0), g()] Done",
        "deepseekv3": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n%s\n```"
                      "<｜tool▁call▁end｜><｜tool▁calls▁end｜>" % args,
        "deepseekv31": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>%s<｜tool▁call▁end｜>"
                       "<｜tool▁calls▁end｜>" % args,
        "kimi_k2": "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>%s"
                   "<|tool_call_end|><|tool_calls_section_end|>" % args,
        "glm45": "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>x</arg_value>\n<arg_key>b</arg_key>"
                 "<arg_value>null</arg_value></tool_call>",
        "gpt-oss": "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>commentary to=functions.f "
                   "<|constrain|>json<|message|>%s<|call|>" % args,
        "step3": '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="f">'
                 '<steptml:parameter name="a">x</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>',
        "minimax-m2": '<minimax:tool_call>\n<invoke name="f">\n<parameter name="c">{"d": 1}</parameter>\n</invoke>\n'
                      "</minimax:tool_call>",
        "": "Just text.",
    }
    for name, text in calls.items():
        for flags in range(3):
            reasoning = "gpt-oss" if name == "gpt-oss" else "qwen3"
            head = bytes([CALLS.index(name), REASONINGS.index(reasoning), flags])
            thought = "" if name == "gpt-oss" else "<think>\nHm\n</think>\n\n"
            put("answer", f"{name or 'text'}_{flags}", head + (thought + text).encode())
    put("answer", "kimi", bytes([15, REASONINGS.index("kimi"), 0]) + "◁think▷Hm◁/think▷Yes".encode())


def make_stop_expressions():
    texts = {
        "digits": ("[0-9]+;", "one 1 two 22; three"),
        "lines": ("(?m)^(?:END|Q:)", "a END\nb\nQ: c"),
        "unbounded": ("<.*>", "a <b\nc <d e> f" * 40),
        "long": ("é[^z]*z", "é" * 3000 + "z"),
        "words": ("\\w+\\s\\d{2,3}(?i:kg)", "Æther 7kg, Æther 70KG"),
        "refused": ("(?:a{1000}){1000}$", "aaa"),
        "string": ("hal", "the halt stop1"),
    }
    for name, (expression, text) in texts.items():
        put("stop_expressions", name, expression + "\n===\n" + text)


def make_bodies():
    bodies = {
        ("/generate", "text"): {"text": "Hi", "sampling_params": {"max_new_tokens": 4, "temperature": 0,
                                                                  "stop": ["x", "\n"], "stop_token_ids": [7]}},
        ("/generate", "ids"): {"input_ids": [1, 2, 3], "return_logprob": True, "logprob_start_len": 0,
                               "top_logprobs_num": 3, "token_ids_logprob": [5, 6]},
        ("/generate", "batch"): {"text": ["a", "b"], "sampling_params": [{"max_new_tokens": 1}, {"n": 2}],
                                 "rid": ["r1", "r2"], "stream": True},
        ("/generate", "penalties"): {"text": "a", "sampling_params": {
            "top_k": 5, "top_p": 0.5, "min_p": 0.1, "frequency_penalty": 1, "presence_penalty": -1,
            "repetition_penalty": 1.5, "min_new_tokens": 2, "logit_bias": {"65": -100.0}, "ignore_eos": True,
            "skip_special_tokens": False, "sampling_seed": 42}},
        ("/v1/chat/completions", "chat"): {
            "model": "bytes", "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "Hi"}],
            "max_tokens": 5, "logprobs": True, "top_logprobs": 2, "n": 2, "seed": 1, "stop": "x"},
        ("/v1/chat/completions", "stream"): {
            "messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}],
            "stream": True, "stream_options": {"include_usage": True}, "max_completion_tokens": 3},
        ("/v1/chat/completions", "tools"): {
            "messages": [{"role": "user", "content": "w"},
                         {"role": "assistant", "content": None, "tool_calls": [
                             {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}}]},
                         {"role": "tool", "tool_call_id": "1", "content": "ok"}],
            "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {}}}],
            "tool_choice": "none", "chat_template_kwargs": {"thinking": True}},
        ("/v1/completions", "text"): {"prompt": "Hi", "max_tokens": 3, "echo": True, "logprobs": 2},
        ("/v1/completions", "ids"): {"prompt": [[1, 2], [3]], "stream": True, "n": 2, "suffix": None},
        ("/tokenize", "prompt"): {"prompt": ["Hi", "\u00e9"], "add_special_tokens": False},
        ("/tokenize", "messages"): {"messages": [{"role": "user", "content": "Hi"}]},
        ("/detokenize", "tokens"): {"tokens": [[72, 105], [256]], "skip_special_tokens": False},
        ("/v1/score", "texts"): {"query": "a", "items": ["b", "c"], "label_token_ids": [1, 2],
                                 "apply_softmax": True, "model": "bytes"},
        ("/v1/score", "ids"): {"query": [1], "items": [[2, 3]], "label_token_ids": [5], "item_first": True},
        ("/v1/messages", "blocks"): {
            "max_tokens": 5, "system": "s", "stop_sequences": ["x"], "tools": [{"name": "f", "input_schema": {}}],
            "thinking": {"type": "disabled"}, "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
            "messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]},
                         {"role": "assistant", "content": [{"type": "thinking", "thinking": "t"},
                                                           {"type": "tool_use", "id": "1", "name": "f", "input": {}}]},
                         {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "b"}]}]},
        ("/v1/messages", "stream"): {"max_tokens": 5, "stream": True, "messages": [{"role": "user", "content": "a"}]},
        ("/v1/messages/count_tokens", "one"): {"messages": [{"role": "user", "content": "a"}]},
        ("/v1/responses", "items"): {
            "input": [{"role": "user", "content": [{"type": "input_text", "text": "a"}]},
                      {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "t"}]},
                      {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
                      {"type": "function_call_output", "call_id": "1", "output": "b"}],
            "instructions": "i", "max_output_tokens": 4, "tools": [{"type": "function", "name": "f"}],
            "text": {"format": {"type": "text"}}, "reasoning": {"effort": "low"}},
        ("/v1/responses", "stream"): {"input": "a", "stream": True, "store": False, "previous_response_id": None},
        ("/separate_reasoning", "one"): {"text": "<think>a</think>b", "reasoning_parser": "qwen3"},
        ("/parse_function_call", "one"): {"text": "<tool_call>{\"name\": \"f\"}</tool_call>",
                                          "tool_call_parser": "hermes",
                                          "tools": [{"type": "function", "function": {"name": "f"}}]},
        ("/abort_request", "one"): {"rid": "r1", "abort_all": False},
    }
    for (path, name), body in bodies.items():
        put("json_body", (path.strip("/") + "_" + name).replace("/", "_"), path + "\n" + json.dumps(body))


def make_http():
    requests = {
        "get": b"GET /health?q=a%20b HTTP/1.1\r\nHost: x\r\n\r\n",
        "post": b"POST /ab HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
        "chunked": b"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nT: v\r\n\r\n",
        "pipelined": b"GET /a HTTP/1.1\r\n\r\nPOST /ab HTTP/1.1\r\nContent-Length: 1\r\n\r\nxGET /c HTTP/1.1\r\n\r\n",
        "expect": b"POST /ab HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nok",
        "http10": b"GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        "absolute": b"GET http://host/a%41?q=%zz HTTP/1.1\r\n\r\n",
        "both_lengths": b"POST /a HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "two_lengths": b"POST /a HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        "too_long": b"POST /a HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "over_limit": b"POST /a HTTP/1.1\r\nContent-Length: 1025\r\n\r\n" + b"x" * 1025,
        "large_chunk": b"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
        "long_header": b"GET /a HTTP/1.1\r\nX: " + b"y" * 2100 + b"\r\n\r\n",
        "folded": b"GET /a HTTP/1.1\r\nX: a\r\n b\r\n\r\n",
        "bare_lf": b"GET /a HTTP/1.1\nHost: x\n\n",
        "upgrade": b"GET /a HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        "http2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    }
    for name, data in requests.items():
        put("http", name, data)


def make_flags():
    lines = {
        "serve": ["--port", "0", "--host", "::1", "--context-length", "100", "--max-running-requests=8"],
        "prefix": ["--max-run", "3", "--schedule-pol", "lpm", "--disable-radix"],
        "draft": ["--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", ".",
                  "--speculative-num-steps", "3", "--speculative-eagle-topk", "4", "--speculative-num-draft-tokens", "8"],
        "json": ["--json-model-override-args", '{"a": [1]}', "--preferred-sampling-params", "{}"],
        "negative": ["--chunked-prefill-size", "-1", "--mem-fraction-static", "-0.5", "--random-seed", "-9223372036854775808"],
        "large": ["--max-total-tokens", "9223372036854775807", "--threads", "99999999999999999999", "--port", "1e3"],
        "lists": ["--cuda-graph-bs", "1", "2", "-3", "--log-requests", "--log-requests-level", "3"],
        "generate": ["generate", "--dtype", "float32", "--max-running-requests", "2"],
        "tokenize": ["tokenize", "--tokenizer-path", ".", "--chat-template", "{% if x %}"],
        "tune": ["tune", "--batch-sizes", "1,8,32", "--validate", "3", "--temperature", "0.5"],
        "odd": ["--", "--=", "-h", "--chat-template", "{{ x }}", "--api-key=", "\u00e9"],
    }
    for name, args in lines.items():
        put("flags", name, "\n".join(args))


def make_tune_records():
    identity = json.dumps({"model": "m", "model_print": "0", "tokenizer_print": "1", "draft": "d", "draft_print": "2",
                           "algorithm": "EAGLE3", "architecture": "LlamaForCausalLM", "backend": "cpu", "vocab": 100,
                           "steps": 2, "topk": 2, "max_new_tokens": 8, "temperature": 0, "stop_tokens": [1]})

    def tokens(values):
        return struct.pack(f"<I{len(values)}i", len(values), *values)

    def tree(rows, children, chances):
        flat = [part for row in rows for part in row]
        return (struct.pack(f"<I{len(flat)}i", len(rows), *flat) + struct.pack(f"<{len(children)}i", *children)
                + struct.pack(f"<{len(chances)}f", *chances))

    def text(trees=(), tops=b"\0\0\0\0"):
        return (struct.pack("<II", 0, 4) + b"math" + tokens([3, 4]) + tokens([5, 6, 1])
                + struct.pack("<I", len(trees)) + b"".join(trees) + tops)

    one = tree([(-1, 0), (0, 1)], [7, 8, 9, -1], [0.5, 0.25, 1.0, 0.0])
    tops = struct.pack("<IIif", 1, 1, 5, -0.5)
    texts = {"plain": text(), "trees": text([one, one], tops), "cut": text([one])[:-7],
             "orphan": text([tree([(-1, 0), (5, 1)], [7, 8, 9, -1], [0.5, 0.25, 1.0, 0.0])]),
             "many": text([struct.pack("<I", 0xFFFFFFFF)])}
    for name, data in texts.items():
        put("tune_record", name, identity.encode() + b"\n===\n" + data)
    put("tune_record", "head", b"FORETOKEN-RECORD\1\0\0\0\1\0\0\0")


def main():
    make_safetensors()
    make_gguf()
    make_torch()
    make_configs()
    make_tokenizers()
    make_sentencepiece()
    make_templates()
    make_answers()
    make_stop_expressions()
    make_bodies()
    make_http()
    make_flags()
    make_tune_records()


if __name__ == "__main__":
    main()
