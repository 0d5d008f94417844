"""A whole Wav2Letter model with CTC, small, on a ragged batch, in FP64 and with penstock's names. Utterances are padded one by one;
batch norm sees all their frames together, and none else."""
import torch
import torch.nn as nn
import torch.nn.functional as F

LENGTHS = (37, 11, 61, 26)  # feature frames; 19, 6, 31, 13 at the loss
LABELS = ([3, 1, 1, 4], [5], [2, 6, 6, 1, 3, 5, 4, 2], [])
CLASSES, FEATURES, CLIP = 7, 5, 1.5
BLOCKS = ((6, 5, 1, 2, 1), (7, 4, 2, 1, 2))  # channels, kernel, convolutions, stride, dilation


def make(save):
    p = {}

    def parameter(name, *shape, low=None):
        p[name] = (torch.rand(shape) + low if low is not None else torch.randn(shape) / shape[-1]).float().double().requires_grad_()
        return p[name]

    x = torch.randn(sum(LENGTHS), FEATURES)
    xs = x.double().split(LENGTHS)
    for b, (channels, kernel, repeats, stride, dilation) in enumerate(BLOCKS, 1):
        for i in range(1, repeats + 1):
            zeros = dilation * (kernel - 1)
            w = parameter(f"block{b}.conv{i}.weight", channels, xs[0].shape[1], kernel)
            ys = [F.conv1d(F.pad(u.T, (zeros // 2, zeros - zeros // 2)), w, None, stride if i == 1 else 1, 0, dilation).T for u in xs]
            scale, shift = parameter(f"block{b}.norm{i}.weight", channels, low=0.5), parameter(f"block{b}.norm{i}.bias", channels)
            normed = F.batch_norm(torch.cat(ys), None, None, scale, shift, True)
            xs = F.hardtanh(normed, 0, CLIP).split([len(y) for y in ys])
    w, bias = parameter("output.weight", CLASSES, xs[0].shape[1]), parameter("output.bias", CLASSES)
    logits = [F.linear(h, w, bias) for h in xs]
    lengths = torch.tensor([len(z) for z in logits])
    counts, labels = torch.tensor([len(l) for l in LABELS]), torch.tensor([k for l in LABELS for k in l])
    losses = F.ctc_loss(nn.utils.rnn.pad_sequence(logits).log_softmax(-1), labels, lengths, counts, reduction="none", zero_infinity=True)
    (losses.sum() / len(LABELS)).backward()
    out = dict(x=x, lengths=torch.tensor(LENGTHS), output_lengths=lengths, labels=labels, label_counts=counts, losses=losses,
               logits=torch.cat(logits).float())
    save("wav2letter", out | {k: v.float() for k, v in p.items()} | {f"d {k}": v.grad for k, v in p.items()})
