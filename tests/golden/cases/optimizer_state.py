"""AdamW whose moments are kept in 8 bits or bf16, in numpy: the dynamic map as bitsandbytes' create_dynamic_map
has it, codes by the smallest distance; Philox for rounding at random. 300 elements: a block of 256 and one of 44.
Gradients of unlike magnitude, so that codes are of all sizes; the first is always 0. Seeds whose numbers lie so
near to a boundary that FP32 could cross it are passed over."""
import numpy as np
import torch

STEPS, COUNT, BLOCK = 4, 300, 256
RATE, BETA1, BETA2, EPSILON, DECAY, FACTOR = 0.03, 0.8, 0.95, 1e-6, 0.1, 0.37
SEED, PLACE = 0x123456789abcdef, 5  # of rounding; of the norm block in the model


def dynamic_map(signed):
    values = [0.0, 1.0]
    for i in range(7):
        bounds = np.linspace(0.1, 1, (2**i if signed else 2 ** (i + 1)) + 1)
        means = 10.0 ** (i - 6) * (bounds[:-1] + bounds[1:]) / 2
        values += [*means, *(-means if signed else [])]
    return np.sort(np.array(values)).astype(np.float32)


class Codes:
    """A slot in 8 bits."""

    def __init__(self, square):
        self.map, self.square = dynamic_map(not square), square
        self.codes, self.scales = np.zeros(COUNT, int), np.zeros(-(-COUNT // BLOCK), np.float32)

    def values(self):
        return self.map[self.codes].astype(float) * np.repeat(self.scales, BLOCK)[:COUNT]

    def store(self, values, step):
        margin = np.inf
        for b in range(len(self.scales)):
            part = values[b * BLOCK : (b + 1) * BLOCK]
            self.scales[b] = np.abs(part).max()
            share = part / self.scales[b]
            distance = np.abs(share[:, None] - self.map.astype(float))
            nearest, next_one = np.sort(distance, axis=1)[share != 0, :2].T
            margin = min(margin, ((next_one - nearest) / np.abs(share[share != 0])).min())
            codes = distance.argmin(axis=1)
            self.codes[b * BLOCK : (b + 1) * BLOCK] = np.where((codes == 0) & (share > 0) & self.square, 1, codes)
        return margin > 2e-6

    def kept(self):
        return dict(numbers=torch.tensor(self.codes.astype(np.float32)), scales=torch.tensor(self.scales.copy()))


def philox(counter, key):
    counter, key = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [(b >> 32) ^ counter[1] ^ key[0], b & 0xFFFFFFFF, (a >> 32) ^ counter[3] ^ key[1], a & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return counter


def words(step):
    name = 2166136261
    for c in b"optimizer.state":
        name = (name ^ c) * 16777619 & 0xFFFFFFFF
    a, b, c, d = philox((step, 0, name, 0), (SEED & 0xFFFFFFFF, SEED >> 32))
    return np.array([philox((PLACE, i // 4, c, d), (a, b))[i % 4] for i in range(COUNT)], np.int64)


class Halves:
    """A slot in bf16, rounded at random."""

    def __init__(self, square):
        self.shift, self.bits = 16 if square else 0, np.zeros(COUNT, np.uint16)

    def values(self):
        return (self.bits.astype(np.uint32) << 16).view(np.float32).astype(float)

    def store(self, values, step):
        exact = values.astype(np.float32).view(np.uint32).astype(np.int64)
        random = (words(step) >> self.shift) & 0xFFFF
        self.bits = ((exact + random) >> 16).astype(np.uint16)
        left = (exact + random) & 0xFFFF
        return (np.minimum(left, 0x10000 - left)[values != 0] > 6).all()

    def kept(self):
        return dict(numbers=torch.tensor(self.values().astype(np.float32)))


def adamw(kind, start, gradients):
    """None where FP32 might not follow."""
    weight, mean, square = start.astype(float), kind(False), kind(True)
    tensors = {}
    for step, gradient in enumerate(gradients, 1):
        g = gradient.astype(float) * FACTOR
        m, v = BETA1 * mean.values() + (1 - BETA1) * g, BETA2 * square.values() + (1 - BETA2) * g * g
        weight = weight * (1 - RATE * DECAY)
        weight -= RATE * m / (1 - BETA1**step) / (np.sqrt(v / (1 - BETA2**step)) + EPSILON)
        if not (mean.store(m, step) & square.store(v, step)):
            return None
        tensors[f"weight.{step}"] = torch.tensor(weight.astype(np.float32))
        tensors |= {f"mean.{step}.{k}": t for k, t in mean.kept().items()}
        tensors |= {f"square.{step}.{k}": t for k, t in square.kept().items()}
    return tensors


def steps(kind):
    for seed in range(10000):
        random = np.random.default_rng(seed)
        start = random.normal(size=COUNT).astype(np.float32)
        sizes = 10.0 ** random.uniform(-5, 0, size=COUNT)
        gradients = (sizes * random.normal(size=(STEPS, COUNT))).astype(np.float32)
        gradients[:, 0] = 0
        if (tensors := adamw(kind, start, gradients)) is not None:
            return dict(start=torch.tensor(start), gradients=torch.tensor(gradients)) | tensors
    raise RuntimeError("no seed is far enough from all boundaries")


def make(save):
    save("code_maps", {"signed": torch.tensor(dynamic_map(True)), "unsigned": torch.tensor(dynamic_map(False))})
    save("adamw_8bit", steps(Codes))
    save("adamw_bf16", steps(Halves))
