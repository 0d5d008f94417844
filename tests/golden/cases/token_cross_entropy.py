"""The loss of a language model with its last product: cross_entropy of the last rows of ragged utterances, with and
without label smoothing. The last rows of an utterance predict its labels and then the end of the text; the loss is
their sum, divided by nothing."""
import torch
import torch.nn.functional as F

WIDTH, CLASSES, EOS = 13, 37, 2
UTTERANCES = [  # rows, labels
    (9, [3, 36, 0, 3]),
    (1, []),  # the end alone
    (4, [5, 5, 2]),  # as many rows as labels and the end
    (17, [0, 1, 36, 4, 9, 9, 21, 13]),
    (6, []),
]


def case(smoothing):
    lengths = [rows for rows, _ in UTTERANCES]
    x = (2 * torch.randn(sum(lengths), WIDTH)).double().requires_grad_()
    weight = torch.randn(CLASSES, WIDTH).double().requires_grad_()
    losses = []
    for rows, (_, labels) in zip(x.split(lengths), UTTERANCES):
        logits = F.linear(rows[-len(labels) - 1:], weight)
        losses.append(F.cross_entropy(logits, torch.tensor(labels + [EOS]), label_smoothing=smoothing, reduction="sum"))
    torch.stack(losses).sum().backward()
    tensors = {"x": x, "dx": x.grad, "weight": weight, "d weight": weight.grad}
    return {name: t.float() for name, t in tensors.items()} | dict(
        losses=torch.stack(losses), lengths=torch.tensor(lengths),
        labels=torch.tensor(sum((labels for _, labels in UTTERANCES), [])),
        label_counts=torch.tensor([len(labels) for _, labels in UTTERANCES]))


def make(save):
    save("token_cross_entropy", case(0))
    save("token_cross_entropy_smoothed", case(0.1))
