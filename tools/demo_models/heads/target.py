"""The target model: frozen, in bf16, with the features that heads read."""
import json
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file

from model import Config, Llama


@dataclass
class Features:
    last: torch.Tensor  # [rows, length, hidden] after the final norm
    taps: list  # the residual streams that EAGLE-3 reads, [rows, length, hidden] each


def eagle3_taps(layers: int) -> tuple:
    """Layers whose outputs EAGLE-3 reads where the config of the head names none."""
    return 1, layers // 2 - 1, layers - 4


class Target:
    def __init__(self, folder: Path):
        self.config = Config.from_file(folder / "config.json")
        self.hf_config = json.load(open(folder / "config.json"))
        self.weights = load_file(folder / "model.safetensors")
        self.model = Llama(self.config).bfloat16().requires_grad_(False)
        self.model.load_state_dict(self.weights)
        self.taps = eagle3_taps(self.config.num_hidden_layers)

    @property
    def embedding(self):
        """Input and output matrix [vocab, hidden]: the demo target ties them."""
        return self.model.model.embed_tokens.weight

    def rope(self, length: int) -> tuple:
        return tuple(table[:length].bfloat16() for table in (self.model.cos, self.model.sin))

    @torch.no_grad()
    def features(self, ids) -> Features:
        last, taps = self.model.hidden_states(ids, taps=self.taps)
        return Features(last, taps)

    @torch.no_grad()
    def probabilities(self, hidden):
        """[n, hidden] -> [n, vocab], float32."""
        return F.linear(hidden, self.embedding).float().softmax(-1)
