#!/usr/bin/env python3
"""Renders the inputs of this folder with Hugging Face transformers and writes what the tests compare with.

Needs transformers and jinja2. Renderings of our own templates are stored as text; those of the models'
templates in the shared data (whose licences do not let us copy them) as length and FNV-1a hash.

  make_goldens.py [--shared ../../../../shared/data]
"""
import argparse
import datetime
import json
import os
import pathlib
import time

os.environ["TZ"] = "UTC"
time.tzset()

from transformers.utils import chat_template_utils

FOLDER = pathlib.Path(__file__).resolve().parent
NOW = 1735830245  # 2025-01-02 15:04:05 UTC
SPECIALS = {"bos_token": "<s>", "eos_token": "</s>", "additional_special_tokens": ["<a>", "<b>"]}
ROLES = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"]


class FixedDatetime(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(NOW, tz)


def render(template, specials, request):
    arguments = dict(specials)
    arguments.update(request.get("chat_template_kwargs", {}))
    continues = request.get("continue_final_message", False)
    prompts = request.get("add_generation_prompt", False)
    try:
        if continues and prompts:
            raise ValueError("not compatible")
        texts, _ = chat_template_utils.render_jinja_template(
            conversations=[request["messages"]], tools=request.get("tools"), documents=request.get("documents"),
            chat_template=template, add_generation_prompt=prompts, continue_final_message=continues, **arguments)
    except Exception as error:
        raised = type(error).__name__ == "TemplateError"
        return {"error": str(error) if raised else None}
    return {"text": texts[0]}


def fnv1a(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"


def hashed(result):
    if "text" not in result:
        return result
    data = result["text"].encode()
    return {"bytes": len(data), "fnv1a": fnv1a(data)}


def model_specials(config):
    specials = {}
    for role in ROLES:
        token = config.get(role)
        if token:
            specials[role] = token["content"] if isinstance(token, dict) else token
    if config.get("additional_special_tokens"):
        specials["additional_special_tokens"] = config["additional_special_tokens"]
    return specials


def write(name, value):
    text = json.dumps(value, ensure_ascii=False, indent=1)
    (FOLDER / name).write_text(text + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shared", type=pathlib.Path, default=FOLDER / "../../../../shared/data")
    options = parser.parse_args()
    chat_template_utils.datetime = FixedDatetime
    lines = (FOLDER / "conversations.jsonl").read_text(encoding="utf-8").strip("\n").split("\n")
    conversations = {request["name"]: request for request in map(json.loads, lines)}

    own = {}
    for path in sorted((FOLDER / "templates").glob("*.jinja")):
        template = path.read_text(encoding="utf-8")
        own[path.name] = {name: render(template, SPECIALS, request) for name, request in conversations.items()}
    write("own_templates.golden.json", own)

    request = json.loads((FOLDER / "expressions_request.json").read_text(encoding="utf-8"))
    sources = json.loads((FOLDER / "expressions.json").read_text(encoding="utf-8"))
    write("expressions.golden.json", [{"source": source, **render(source, {}, request)} for source in sources])

    models = {}
    for path in sorted(options.shared.glob("tokenizers/*/*tokenizer_config.json")):
        config = json.loads(path.read_text(encoding="utf-8"))
        template = config.get("chat_template")
        if not template:
            continue
        name = str(path.relative_to(options.shared))
        models[name] = {key: hashed(render(template, model_specials(config), request))
                        for key, request in conversations.items()}
    if models:
        write("model_templates.golden.json", models)


if __name__ == "__main__":
    main()
