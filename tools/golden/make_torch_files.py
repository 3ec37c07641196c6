#!/usr/bin/env python3
"""Writes the files of tests/golden/torch: what torch.save makes of checkpoints and token maps.

    python tools/golden/make_torch_files.py tests/golden/torch

Values are counted up, so that tests know them. Needs torch; the tests do not.
"""

import collections
import sys
from pathlib import Path

import torch


def counting(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """0, 1, 2, ... / 8 in the order of the elements (whole numbers where dtype is an integer)."""
    count = torch.arange(int(torch.tensor(shape).prod()))
    return (count / 8 if dtype.is_floating_point else count).to(dtype).reshape(shape)


def checkpoint() -> dict[str, torch.Tensor]:
    shared = counting(4, 3)
    return {
        "f32": counting(2, 3),
        "bf16": counting(3, 2, dtype=torch.bfloat16),
        "f16": counting(5, dtype=torch.float16),
        "i64": counting(4, dtype=torch.int64),
        "i32": counting(4, dtype=torch.int32),
        "mask": torch.tensor([True, False, True]),
        "scalar": torch.tensor(1.5),
        "empty": torch.zeros(0, 3),
        "parameter": torch.nn.Parameter(counting(2, 2)),
        "transposed": counting(2, 3).t(),
        "rows_from_1": shared[1:],
        "column_1": shared[:, 1],
    }


class Command:
    """Pickles as a call of something that no file of tensors needs."""

    def __reduce__(self):
        return (print, ("a file was executed",))


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)

    def save(name: str, value: object, **options: object) -> None:
        torch.save(value, folder / name, **options)

    legacy = {"_use_new_zipfile_serialization": False}
    save("checkpoint.bin", checkpoint())
    save("checkpoint_legacy.bin", checkpoint(), **legacy)
    save("checkpoint_protocol4.bin", checkpoint(), pickle_protocol=4)
    torch.manual_seed(1)
    save("state_dict.bin", torch.nn.Linear(3, 2).state_dict())
    save("map_list.pt", [5, 3, 70000, 0])
    save("map_list_legacy.pt", [5, 3, 70000, 0], **legacy)
    save("map_tensor.pt", torch.tensor([5, 3, 70000, 0]))
    save("map_tensor_i32.pt", torch.tensor([5, 3, 70000, 0], dtype=torch.int32))
    save("map_tensor_strided.pt", torch.tensor([5, 9, 3, 9, 70000, 9, 0, 9])[::2])
    save("command.bin", collections.OrderedDict(weight=Command()))
    save("command_legacy.bin", {"weight": Command()}, **legacy)
    save("not_tensors.bin", {"step": 7})
    save("repeated.bin", {"weight": torch.zeros(1).expand(1 << 40)})


if __name__ == "__main__":
    main()
