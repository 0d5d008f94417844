"""The transducer's losses of ragged utterances: RNN-T, by the recursion of Graves (2012) and autograd, and TDT, by the
tdt_loss of transformers, made to compute in FP64. Rows are the real cells (t, u), u fastest, of one utterance after
the other; columns are the tokens, blank first, and then TDT's durations. Losses are not divided by anything."""
from unittest import mock

import torch
from transformers.loss.loss_tdt import tdt_loss

TOKENS = 7
DURATIONS = [0, 1, 2, 3, 4]
SIGMA = 0.05
UTTERANCES = [  # frames, labels
    (13, [3, 1, 4, 1, 5]),
    (1, [2]),
    (9, []),
    (5, [6, 6, 6, 1, 2, 6, 6]),  # more labels than frames
    (1, []),
    (31, [1, 1, 2, 3, 5, 5, 5, 6, 4, 3, 3, 1]),
]


def padded(cells, width, utterances):
    """[utterance, frame, label, column] of the packed rows, with zeros where there is no cell."""
    frames, labels = max(t for t, _ in utterances), max(len(y) for _, y in utterances)
    blocks = []
    for (t, y), rows in zip(utterances, cells.split([t * (len(y) + 1) for t, y in utterances])):
        block = rows.view(t, len(y) + 1, width)
        blocks.append(torch.nn.functional.pad(block, (0, 0, 0, labels - len(y), 0, frames - t)))
    return torch.stack(blocks)


def rnnt_loss(log_p, labels):
    """-log of the sum over all alignments, cell by cell."""
    alpha = {}
    for t in range(log_p.shape[0]):
        for u in range(len(labels) + 1):
            ways = []
            if t > 0:
                ways.append(alpha[t - 1, u] + log_p[t - 1, u, 0])
            if u > 0:
                ways.append(alpha[t, u - 1] + log_p[t, u - 1, labels[u - 1]])
            alpha[t, u] = torch.logsumexp(torch.stack(ways), 0) if ways else log_p.new_zeros(())
    return -(alpha[t, u] + log_p[t, u, 0])


def rnnt(logits):
    blocks = padded(logits.log_softmax(-1), TOKENS, UTTERANCES)
    return torch.stack([rnnt_loss(block[:t, :len(y) + 1], y) for block, (t, y) in zip(blocks, UTTERANCES)])


def tdt(logits, utterances=UTTERANCES):
    blocks = padded(logits, TOKENS + len(DURATIONS), utterances)
    targets = torch.nn.utils.rnn.pad_sequence([torch.tensor(y, dtype=torch.long) for _, y in utterances], batch_first=True)
    torch.set_default_dtype(torch.float64)
    with mock.patch.object(torch.Tensor, "float", torch.Tensor.double):
        losses = tdt_loss(blocks[..., :TOKENS], blocks[..., TOKENS:], targets, torch.tensor([t for t, _ in utterances]),
                          torch.tensor([len(y) for _, y in utterances]), 0, DURATIONS, SIGMA, "none")
    torch.set_default_dtype(torch.float32)
    return losses


def make(save):
    lengths, labels = [t for t, _ in UTTERANCES], [y for _, y in UTTERANCES]
    common = dict(lengths=torch.tensor(lengths), label_counts=torch.tensor([len(y) for y in labels]),
                  labels=torch.tensor(sum(labels, [])))
    cells = sum(t * (len(y) + 1) for t, y in UTTERANCES)
    extra = dict(durations=torch.tensor(DURATIONS), sigma=torch.tensor([SIGMA], dtype=torch.float64))
    for name, loss, width, more in (("rnnt", rnnt, TOKENS, {}), ("tdt", tdt, TOKENS + len(DURATIONS), extra)):
        logits = (torch.randn(cells, width) * 3).double().requires_grad_()
        losses = loss(logits)
        losses.sum().backward()
        save(f"transducer_{name}", common | more | dict(logits=logits.float(), losses=losses, dlogits=logits.grad))
