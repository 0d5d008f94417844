"""A linear layer with a low-rank adapter, as PEFT's lora.Linear computes it."""
import torch
import torch.nn.functional as F


def make(save):
    alpha, rank = 6, 4
    x, weight, bias, a, b, dy = (torch.randn(shape).double().requires_grad_()
                                 for shape in ((26, 7), (9, 7), (9,), (rank, 7), (9, rank), (26, 9)))
    y = F.linear(x, weight, bias) + alpha / rank * F.linear(F.linear(x, a), b)
    y.backward(dy)
    tensors = dict(x=x, weight=weight, bias=bias, a=a, b=b, dy=dy, y=y, dx=x.grad, da=a.grad, db=b.grad)
    save("lora_linear", {key: tensor.detach().float() for key, tensor in tensors.items()})
