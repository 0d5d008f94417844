#!/usr/bin/env python3
"""Makes the golden files of the tests from PyTorch: one safetensors file for each case.

  make_golden.py [FAMILY...]

A family is a module of cases/ with a function make(save); save(name, tensors) writes NAME.safetensors beside
this script. Without arguments all families are made. Inputs are FP32 values from fixed seeds, results are
computed in FP64 and stored in FP32 unless a case says otherwise. Activations are stored as penstock lays them
out: rows are the real frames of one utterance after the other, columns are [frequency][channel].
Needs torch 2.13, numpy and safetensors.
"""
import importlib
import pkgutil
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file

import cases

FOLDER = Path(__file__).parent


def save(name, tensors):
    plain = {key: torch.as_tensor(value).detach().contiguous().clone() for key, value in sorted(tensors.items())}
    save_file(plain, FOLDER / f"{name}.safetensors")
    print(f"{name}: {sum(t.nbytes for t in plain.values())} bytes")


def main():
    torch.set_num_threads(1)
    for family in sys.argv[1:] or sorted(m.name for m in pkgutil.iter_modules(cases.__path__)):
        torch.manual_seed(0)
        importlib.import_module(f"cases.{family}").make(save)


if __name__ == "__main__":
    main()
