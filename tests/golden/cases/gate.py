"""torch.nn.functional.glu, and SwiGLU as silu(first half) times last half, in FP64."""
import torch
import torch.nn.functional as F


def swiglu(x):
    a, b = x.chunk(2, dim=1)
    return F.silu(a) * b


def make(save):
    x = torch.randn(26, 2 * 11) * 3
    dy = torch.randn(26, 11)
    tensors = dict(x=x, dy=dy)
    for name, function in dict(glu=F.glu, swiglu=swiglu).items():
        exact = x.double().requires_grad_()
        y = function(exact)
        y.backward(dy.double())
        tensors |= {f"y_{name}": y.float(), f"dx_{name}": exact.grad.float()}
    save("gate", tensors)
