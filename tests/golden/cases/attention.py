"""Self-attention of each utterance alone, in FP64: plain and rotary by scaled_dot_product_attention, with a band of
context, with shared heads of k and v, with Transformer-XL's relative positions written out as transformers' Parakeet has them, and with Shaw's as
w2v-BERT 2.0 has them."""
import math

import torch
import torch.nn.functional as F

LENGTHS, CHANNELS, HEADS = (7, 1, 13, 5, 70), 12, 3  # 70: more than one tile
D = CHANNELS // HEADS


def heads(x):
    return x.view(len(x), -1, D).transpose(0, 1)


def rotate(x, base=10000):
    angles = torch.arange(x.shape[1]).double()[:, None] * base ** (-torch.arange(0, D, 2).double() / D)
    cos, sin = angles.cos().repeat(1, 2), angles.sin().repeat(1, 2)
    a, b = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-b, a), dim=-1) * sin


def band(n, left, right):
    i, j = torch.arange(n)[:, None], torch.arange(n)
    return (j >= i - left) & (j <= i + right)


def sinusoids(n):
    angles = torch.arange(n - 1, -n, -1).double()[:, None] * 10000 ** (-torch.arange(0, CHANNELS, 2).double() / CHANNELS)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).reshape(2 * n - 1, CHANNELS)


def case(save, name, weights):
    key_channels = weights.get("kv_heads", HEADS) * D
    qkv = torch.randn(sum(LENGTHS), CHANNELS + 2 * key_channels).double().requires_grad_()
    numbers = {key: torch.randn(shape).double().requires_grad_() for key, shape in weights.get("numbers", {}).items()}
    outs = []
    for u in qkv.split(LENGTHS):
        q, k, v = (heads(x) for x in u.split([CHANNELS, key_channels, key_channels], dim=1))
        outs.append(weights["attend"](q, k, v, numbers).transpose(0, 1).reshape(len(u), CHANNELS))
    y = torch.cat(outs)
    dy = torch.randn(y.shape).double()
    tensors = dict(lengths=torch.tensor(LENGTHS), x=qkv.float(), dy=dy.float()) | {k: n.float() for k, n in numbers.items()}
    y.backward(dy)
    save(name, tensors | {f"d{k}": n.grad.float() for k, n in numbers.items()} | dict(y=y.float(), dx=qkv.grad.float()))


def relative(q, k, v, numbers, seen=lambda n: torch.ones(n, n).bool()):
    n = q.shape[1]
    r = heads(sinusoids(n) @ numbers["positions.weight"].T)
    u, w = (numbers[key].view(HEADS, 1, D) for key in ("bias_u", "bias_v"))
    by_distance = (q + w) @ r.transpose(1, 2)
    x = n - 1 - (torch.arange(n)[:, None] - torch.arange(n))  # row of r for i - j
    scores = (q + u) @ k.transpose(1, 2) + by_distance.gather(2, x.expand(HEADS, n, n))
    return (scores / math.sqrt(D)).masked_fill(~seen(n), -math.inf).softmax(dim=-1) @ v


def shaw(q, k, v, numbers, left=9, right=3):
    n = q.shape[1]
    distances = (torch.arange(n) - torch.arange(n)[:, None]).clamp(-left, right) + left  # of key j and query i: j - i
    by_distance = torch.einsum("hid,ijd->hij", q, F.embedding(distances, numbers["positions.weight"]))
    return ((q @ k.transpose(1, 2) + by_distance) / math.sqrt(D)).softmax(dim=-1) @ v


def make(save):
    plain = F.scaled_dot_product_attention
    case(save, "attention", dict(attend=lambda q, k, v, _: plain(q, k, v)))
    case(save, "attention_rotary", dict(attend=lambda q, k, v, _: plain(rotate(q), rotate(k), v)))
    case(save, "attention_band", dict(attend=lambda q, k, v, _: plain(q, k, v, attn_mask=band(q.shape[1], 9, 3))))
    case(save, "attention_causal", dict(attend=lambda q, k, v, _: plain(q, k, v, is_causal=True)))
    shapes = {"positions.weight": (CHANNELS, CHANNELS), "bias_u": (CHANNELS,), "bias_v": (CHANNELS,)}
    case(save, "attention_relative", dict(attend=relative, numbers=shapes))
    near = lambda *of: relative(*of, seen=lambda n: band(n, 9, 3))
    case(save, "attention_relative_band", dict(attend=near, numbers=shapes))
    case(save, "attention_shaw", dict(attend=shaw, numbers={"positions.weight": (9 + 1 + 3, D)}))
    one_head = lambda q, k, v, _: plain(rotate(q, 500), rotate(k, 500), v, is_causal=True, enable_gqa=True)
    case(save, "attention_grouped", dict(attend=one_head, kv_heads=1))
