"""A unit of self-conditioned CTC (Nozaki & Komatsu 2021) between two products, with the loss after them:
y = x + condition(softmax(z)) with z = output(norm(x)), and the loss CTC(final(y)) + weight · CTC(z)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

WIDTH, CLASSES, WEIGHT = 6, 5, 0.375  # FP32 holds the weight
TEXTS = ([1, 2, 2, 1], [], [3, 1], [4, 2, 4, 1, 3])
LENGTHS = (9, 1, 7, 11)


def make(save):
    unit = nn.ModuleDict(dict(norm=nn.LayerNorm(WIDTH), output=nn.Linear(WIDTH, CLASSES), condition=nn.Linear(CLASSES, WIDTH)))
    final = nn.Linear(WIDTH, CLASSES)
    for module in (unit, final):
        for parameter in module.parameters():
            parameter.data = torch.randn_like(parameter)
    values = {f"unit.{name}": p.detach().clone() for name, p in unit.named_parameters()}
    values |= {f"final.{name}": p.detach().clone() for name, p in final.named_parameters()}
    unit, final = unit.double(), final.double()
    x = torch.randn(sum(LENGTHS), WIDTH)
    values["x"] = x
    x = x.double().requires_grad_()

    def ctc(logits):
        padded = nn.utils.rnn.pad_sequence(logits.split(LENGTHS))
        return F.ctc_loss(padded.log_softmax(-1), torch.tensor(sum(TEXTS, [])), torch.tensor(LENGTHS),
                          torch.tensor([len(text) for text in TEXTS]), reduction="none")

    logits = unit["output"](unit["norm"](x))
    y = x + unit["condition"](logits.softmax(-1))
    losses, intermediate = ctc(final(y)), ctc(logits)
    (losses.sum() + WEIGHT * intermediate.sum()).backward()
    gradients = {f"d{name}": p.grad for name, p in [(f"unit.{n}", p) for n, p in unit.named_parameters()] +
                 [(f"final.{n}", p) for n, p in final.named_parameters()]}
    save("intermediate_ctc", dict(values, lengths=torch.tensor(LENGTHS), labels=torch.tensor(sum(TEXTS, [])),
                                  label_counts=torch.tensor([len(text) for text in TEXTS]), y=y, losses=losses, dx=x.grad, **gradients))
