"""A whole Conformer and a whole Transformer with CTC, small, on a ragged batch, in FP64 and with penstock's names.

Utterances are computed one by one, without padding; batch norm sees all their frames together, and none else.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from cases.attention import band
from cases.sinusoidal_positions import absolute_positions

LENGTHS = (37, 11, 61, 26)  # feature frames; 10, 3, 16, 7 at the loss
LABELS = ([3, 1, 1, 4], [5], [2, 6, 6, 1, 3, 5, 4, 2], [])
CLASSES, FEATURES, WIDTH, HEADS = 7, 11, 12, 3
D = WIDTH // HEADS


def sinusoids(n):
    angles = torch.arange(n - 1, -n, -1).double()[:, None] * 10000 ** (-torch.arange(0, WIDTH, 2).double() / WIDTH)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).reshape(2 * n - 1, WIDTH)


def rotate(x):
    angles = torch.arange(x.shape[1]).double()[:, None] * 10000 ** (-torch.arange(0, D, 2).double() / D)
    a, b = x.chunk(2, dim=-1)
    return x * angles.cos().repeat(1, 2) + torch.cat((-b, a), dim=-1) * angles.sin().repeat(1, 2)


class Numbers:
    """Parameters by name, made when first asked for."""

    def __init__(s): s.all = {}

    def __call__(s, name, *shape, low=None):
        if name not in s.all:
            values = torch.rand(shape) + low if low is not None else torch.randn(shape) / math.sqrt(math.prod(shape[1:]) or 1)
            s.all[name] = values.float().double().requires_grad_()
        return s.all[name]

    def linear(s, name, x, out): return F.linear(x, s(f"{name}.weight", out, x.shape[-1]), s(f"{name}.bias", out))
    def rms_norm(s, name, x): return F.rms_norm(x, x.shape[-1:], s(f"{name}.weight", x.shape[-1], low=0.5), 1e-5)
    def norm(s, name, x): return F.layer_norm(x, x.shape[-1:], s(f"{name}.weight", x.shape[-1], low=0.5), s(f"{name}.bias", x.shape[-1]))


def subsample(p, x):
    y = x.T[None, None]  # [1, 1, frequency, time]
    for i in (1, 2):
        name = f"subsampling.conv{i}"
        y = F.relu(F.conv2d(y, p(f"{name}.weight", WIDTH, y.shape[1], 3, 3), p(f"{name}.bias", WIDTH), 2, 1))
    return p.linear("subsampling.linear", y[0].permute(2, 1, 0).flatten(1), WIDTH)  # rows are [frequency][channel]


def feed_forward(p, name, x, inner, act, scale):
    return x + scale * p.linear(f"{name}.linear2", act(p.linear(f"{name}.linear1", p.norm(f"{name}.norm", x), inner)), WIDTH)


def gated_feed_forward(p, name, x, inner):
    a, b = p.linear(f"{name}.linear1", p.rms_norm(f"{name}.norm", x), 2 * inner).chunk(2, 1)
    return x + p.linear(f"{name}.linear2", F.silu(a) * b, WIDTH)


def attention(p, name, x, positions, norm=Numbers.norm, context=(99, 99)):
    q, k, v = (t.view(len(x), HEADS, D).transpose(0, 1) for t in p.linear(f"{name}.qkv", norm(p, f"{name}.norm", x), 3 * WIDTH).chunk(3, 1))
    n = len(x)
    if positions == "relative":
        r = (sinusoids(n) @ p(f"{name}.core.positions.weight", WIDTH, WIDTH).T).view(-1, HEADS, D).transpose(0, 1)
        u, w = (p(f"{name}.core.bias_{b}", WIDTH).view(HEADS, 1, D) for b in "uv")
        at = (n - 1 - (torch.arange(n)[:, None] - torch.arange(n))).expand(HEADS, n, n)
        scores = (q + u) @ k.transpose(1, 2) + ((q + w) @ r.transpose(1, 2)).gather(2, at)
    else:
        scores = (rotate(q) @ rotate(k).transpose(1, 2)) if positions == "rotary" else q @ k.transpose(1, 2)
    out = (scores / math.sqrt(D)).masked_fill(~band(n, *context), -math.inf).softmax(-1) @ v
    return x + p.linear(f"{name}.output", out.transpose(0, 1).reshape(n, WIDTH), WIDTH)


def convolution(p, name, xs, kernel):
    gated = [F.glu(p.linear(f"{name}.pointwise1", p.norm(f"{name}.norm", x), 2 * WIDTH), 1) for x in xs]
    w, b = p(f"{name}.depthwise.weight", WIDTH, kernel), p(f"{name}.depthwise.bias", WIDTH)
    convolved = torch.cat([F.conv1d(g.T, w[:, None], b, padding=kernel // 2, groups=WIDTH).T for g in gated])
    normed = F.batch_norm(convolved, None, None, p(f"{name}.batch_norm.weight", WIDTH, low=0.5), p(f"{name}.batch_norm.bias", WIDTH), True)
    return [x + p.linear(f"{name}.pointwise2", F.silu(c), WIDTH) for x, c in zip(xs, normed.split([len(x) for x in xs]))]


def conformer(p, xs, context=(99, 99)):
    for i in (1, 2):
        xs = [feed_forward(p, f"block{i}.feed_forward1", x, 4 * WIDTH, F.silu, 0.5) for x in xs]
        xs = [attention(p, f"block{i}.attention", x, "relative", context=context) for x in xs]
        xs = convolution(p, f"block{i}.convolution", xs, 5)
        xs = [feed_forward(p, f"block{i}.feed_forward2", x, 4 * WIDTH, F.silu, 0.5) for x in xs]
        xs = [p.norm(f"block{i}.norm", x) for x in xs]
    return xs


def transformer(p, xs, positions="rotary"):
    for i in (1, 2):
        xs = [attention(p, f"block{i}.attention", x, positions) for x in xs]
        xs = [feed_forward(p, f"block{i}.feed_forward", x, 20, F.gelu, 1) for x in xs]
    return [p.norm("norm", x) for x in xs]


def transformer_absolute(p, xs):
    return transformer(p, [x * math.sqrt(WIDTH) + absolute_positions(len(x), WIDTH) for x in xs], "absolute")


def conformer_context(p, xs):
    return conformer(p, xs, (2, 1))


def transformer_gated(p, xs):
    for i in (1, 2):
        xs = [attention(p, f"block{i}.attention", x, "rotary", Numbers.rms_norm, (0, 3)) for x in xs]
        xs = [gated_feed_forward(p, f"block{i}.feed_forward", x, 20) for x in xs]
    return [p.rms_norm("norm", x) for x in xs]


def case(save, name, encoder):
    p, x = Numbers(), torch.randn(sum(LENGTHS), FEATURES)
    logits = [p.linear("output", h, CLASSES) for h in encoder(p, [subsample(p, u) for u in x.double().split(LENGTHS)])]
    lengths = torch.tensor([len(z) for z in logits])
    counts, labels = torch.tensor([len(l) for l in LABELS]), torch.tensor([k for l in LABELS for k in l])
    losses = F.ctc_loss(nn.utils.rnn.pad_sequence(logits).log_softmax(-1), labels, lengths, counts, reduction="none",
                        zero_infinity=True)
    (losses.sum() / len(LABELS)).backward()
    out = dict(x=x, lengths=torch.tensor(LENGTHS), output_lengths=lengths, labels=labels, label_counts=counts,
               losses=losses, logits=torch.cat(logits).float())
    # Batch norm takes away what a bias before it adds: its gradient is 0, up to rounding.
    gradients = {k: v.grad * (not k.endswith("depthwise.bias")) for k, v in p.all.items()}
    save(name, out | {k: v.float() for k, v in p.all.items()} | {f"d {k}": v for k, v in gradients.items()})


def make(save):
    case(save, "conformer", conformer)
    case(save, "transformer", transformer)
    case(save, "transformer_absolute", transformer_absolute)
    case(save, "transformer_gated", transformer_gated)
    case(save, "conformer_context", conformer_context)
