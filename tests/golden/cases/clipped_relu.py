"""Clipped ReLU as torch.nn.functional.hardtanh(x, 0, 20)."""
import torch
import torch.nn.functional as F


def make(save):
    x = (torch.randn(26, 7) * 15).requires_grad_()
    with torch.no_grad():
        x[0, :4] = torch.tensor([0.0, 20.0, -0.0, 20.000002])  # the kinks themselves
    y = F.hardtanh(x, 0, 20)
    dy = torch.randn_like(y)
    y.backward(dy)
    save("clipped_relu", dict(x=x, y=y, dy=dy, dx=x.grad))
