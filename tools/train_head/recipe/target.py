"""The target model through transformers: what its layers give out, and what it takes for probable."""
import json
from dataclasses import dataclass
from pathlib import Path

from .faults import Fault, need

torch = need("torch")
transformers = need("transformers")
need("safetensors")

import torch.nn.functional as F
from safetensors.torch import load_file, save_file

from heads.target import eagle3_taps
from model import Config, rope_table

transformers.logging.disable_progress_bar()

CONFIG_FILE, WEIGHTS_FILE = "target.json", "target.safetensors"


def load_model(path: Path, dtype, device: str):
    """A folder of Hugging Face's, or a GGUF file, which transformers unpacks."""
    if not path.exists():
        raise Fault(f"no such model: {path}")
    folder, more = (path.parent, {"gguf_file": path.name}) if path.is_file() else (path, {})
    if path.is_file() and path.suffix != ".gguf":
        raise Fault(f"{path} is neither a checkpoint folder nor a GGUF file")
    if more:
        need("gguf")
        # Later versions keep the file's blocks packed, which is several times slower than plain matrices.
        if hasattr(transformers, "GgufConfig"):
            more["quantization_config"] = transformers.GgufConfig(dequantize=True)
    try:
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, local_files_only=True, **more)
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        raise Fault(f"transformers cannot load {path}: {str(error).splitlines()[0]}") from None
    return model.eval().requires_grad_(False).to(device)


def rope_theta(config) -> float:
    """transformers 5 keeps it in rope_parameters, earlier ones in rope_theta."""
    parameters = getattr(config, "rope_parameters", None) or {}
    return float(parameters.get("rope_theta") or getattr(config, "rope_theta", None) or 10000.0)


def head_description(config) -> dict:
    """config.json of a head of one Llama layer with the target's sizes. The head has plain rotary positions, however the target
    scales its own."""
    c = config.get_text_config() if hasattr(config, "get_text_config") else config
    try:
        sizes = {"vocab_size": c.vocab_size, "hidden_size": c.hidden_size, "intermediate_size": c.intermediate_size,
                 "num_hidden_layers": c.num_hidden_layers, "num_attention_heads": c.num_attention_heads}
    except AttributeError as error:
        raise Fault(f"no head can be made for a {config.model_type} model: {error}") from None
    return {
        "architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama", "attention_bias": False, "attention_dropout": 0.0,
        "bos_token_id": c.bos_token_id, "eos_token_id": c.eos_token_id, "hidden_act": "silu", "initializer_range": 0.02, "mlp_bias": False,
        "rope_scaling": None, "tie_word_embeddings": False, "torch_dtype": "bfloat16", "use_cache": True, **sizes,
        "num_key_value_heads": getattr(c, "num_key_value_heads", None) or c.num_attention_heads,
        "head_dim": getattr(c, "head_dim", None) or c.hidden_size // c.num_attention_heads,
        "max_position_embeddings": c.max_position_embeddings,
        "rms_norm_eps": getattr(c, "rms_norm_eps", 1e-5),
        "rope_theta": rope_theta(c),
    }


class Target:
    """The whole model. Only the taps need it."""

    def __init__(self, path: Path, dtype: str, device: str):
        self.device, self.model = device, load_model(path, getattr(torch, dtype), device)
        self.description = head_description(self.model.config)
        layers = self.description["num_hidden_layers"]
        self.taps = eagle3_taps(layers)
        if not 0 <= self.taps[0] < self.taps[1] < self.taps[2] < layers:
            raise Fault(f"a model of {layers} layers is too small for three taps: it needs 8 layers or more")

    @torch.no_grad()
    def run(self, ids):
        """ids [rows, length] -> joined taps [rows, length, 3 * hidden], logits [rows, length, vocab]."""
        output = self.model(input_ids=ids.to(self.device), output_hidden_states=True, use_cache=False)
        # hidden_states[0] is the embedding, so that what layer i gives out is hidden_states[i + 1].
        return torch.cat([output.hidden_states[layer + 1] for layer in self.taps], -1), output.logits

    def write_base(self, folder: Path):
        """What training and export need of the model: sizes, embedding, output matrix."""
        tensors = {"embedding": self.model.get_input_embeddings().weight}
        output = self.model.get_output_embeddings().weight
        if output.data_ptr() != tensors["embedding"].data_ptr():
            tensors["output"] = output
        save_file({n: t.detach().bfloat16().cpu().contiguous().clone() for n, t in tensors.items()}, folder / WEIGHTS_FILE)
        (folder / CONFIG_FILE).write_text(json.dumps({"description": self.description, "taps": self.taps}, indent=2) + "\n")


@dataclass
class Base:
    """What is left of the target where heads are trained; the modules of the demo's heads read it."""

    config: Config
    hf_config: dict
    taps: tuple
    embedding: object  # [vocab, hidden]: of the input
    output: object  # the same of the output
    tables: tuple

    @classmethod
    def read(cls, folder: Path, device: str, positions: int):
        if not (folder / CONFIG_FILE).exists():
            raise Fault(f"{folder} has no {CONFIG_FILE}: run the step taps first")
        saved, tensors = json.loads((folder / CONFIG_FILE).read_text()), load_file(folder / WEIGHTS_FILE, device=device)
        description = saved["description"]
        config = Config(**{k: description[k] for k in Config.__dataclass_fields__})
        tables = rope_table(Config(**{**config.__dict__, "max_position_embeddings": positions}))
        return cls(config, description, tuple(saved["taps"]), tensors["embedding"], tensors.get("output", tensors["embedding"]),
                   tuple(table.to(device).bfloat16() for table in tables))

    def rope(self, length: int) -> tuple:
        return tuple(table[:length] for table in self.tables)

    def embed(self, ids):
        return F.embedding(ids, self.embedding)
