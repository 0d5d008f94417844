"""Input projection and recurrence as torch.nn.RNN, GRU and LSTM on packed sequences, directions summed."""
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_sequence, unpack_sequence

LENGTHS = [7, 1, 13, 5]
CHANNELS, HIDDEN = 6, 11


def make(save):
    for kind, cell in dict(tanh=nn.RNN, gru=nn.GRU, lstm=nn.LSTM).items():
        for directions in (1, 2):
            save(f"recurrence_{kind}_{directions}", case(cell, directions))


def case(cell, directions):
    rnn = cell(CHANNELS, HIDDEN, bidirectional=directions == 2)
    with torch.no_grad():
        for parameter in rnn.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.4)
    rnn = rnn.double()
    x = torch.randn(sum(LENGTHS), CHANNELS).double().requires_grad_()
    y, _ = rnn(pack_sequence(x.split(LENGTHS), enforce_sorted=False))
    y = torch.cat(unpack_sequence(y)).view(-1, directions, HIDDEN).sum(1)
    dy = torch.randn(y.shape).double()
    y.backward(dy)

    tensors = dict(x=x, y=y, dy=dy, dx=x.grad)
    suffixes = ["", "_reverse"][:directions]
    for name, theirs in {"input.weight": "weight_ih_l0", "input.bias": "bias_ih_l0",
                         "weight": "weight_hh_l0", "bias": "bias_hh_l0"}.items():
        parts = [getattr(rnn, theirs + suffix) for suffix in suffixes]
        join = torch.cat if name.startswith("input") else torch.stack
        tensors[name] = join([part.detach() for part in parts])
        tensors["d " + name] = join([part.grad for part in parts])
    return {name: tensor.detach().float() for name, tensor in tensors.items()}
