#!/usr/bin/env python3
"""sdpa.py DEVICE HEAD_CHANNELS HEADS FRAMES:UTTERANCES...: times PyTorch's scaled_dot_product_attention in BF16 on noise.

A line for each shape: its frames, then microseconds forward and backward, the median of seven runs of five calls each after two that are
not counted."""
import statistics
import sys
import time

import torch

device = sys.argv[1]
channels, heads = map(int, sys.argv[2:4])
CALLS = 5
wait = torch.cuda.synchronize if device == "cuda" else lambda: None
attend = torch.nn.functional.scaled_dot_product_attention


def microseconds(call):
    times = []
    for _ in range(9):
        wait()
        begin = time.perf_counter()
        for _ in range(CALLS):
            call()
        wait()
        times.append(1e6 * (time.perf_counter() - begin) / CALLS)
    return statistics.median(times[2:])


torch.manual_seed(0)
for shape in sys.argv[4:]:
    frames, utterances = map(int, shape.split(":"))
    q, k, v, dy = (torch.randn(utterances, heads, frames, channels, device=device, dtype=torch.bfloat16) for _ in range(4))
    for operand in (q, k, v):
        operand.requires_grad_()
    forward = microseconds(lambda: attend(q, k, v))
    y = attend(q, k, v)
    print(frames, f"{forward:.1f}", f"{microseconds(lambda: torch.autograd.grad(y, (q, k, v), dy, retain_graph=True)):.1f}", flush=True)
