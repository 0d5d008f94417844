"""Absolute positions as PyTorch's tutorial on Transformers, ESPnet and NeMo have them (class PositionalEncoding): each
utterance times the square root of the width, plus a table of sinusoids from its first frame on."""
import math

import torch

LENGTHS, CHANNELS = (7, 1, 13, 5, 70), 11


def absolute_positions(frames, channels):
    position = torch.arange(frames).double()[:, None]
    angles = position * torch.exp(torch.arange(0, channels, 2).double() * (-math.log(10000.0) / channels))
    table = torch.zeros(frames, channels).double()
    table[:, 0::2] = angles.sin()
    table[:, 1::2] = angles.cos()[:, : channels // 2]
    return table


def make(save):
    x = torch.randn(sum(LENGTHS), CHANNELS).double().requires_grad_()
    y = torch.cat([u * math.sqrt(CHANNELS) + absolute_positions(len(u), CHANNELS) for u in x.split(LENGTHS)])
    dy = torch.randn(y.shape).float().double()
    y.backward(dy)
    save("sinusoidal_positions", dict(lengths=torch.tensor(LENGTHS), x=x.float(), dy=dy.float(), y=y.float(), dx=x.grad.float()))
