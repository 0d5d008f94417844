"""torch.nn.functional's GELU (exact and by tanh) and SiLU, in FP64."""
import torch
import torch.nn.functional as F

KINDS = dict(gelu=F.gelu, gelu_tanh=lambda x: F.gelu(x, approximate="tanh"), silu=F.silu)


def make(save):
    x = torch.randn(26, 7) * 4
    x[0] = torch.tensor([0.0, -0.0, 1e-4, -30.0, 30.0, -90.0, 90.0])
    dy = torch.randn(26, 7)
    tensors = dict(x=x, dy=dy)
    for name, function in KINDS.items():
        exact = x.double().requires_grad_()
        y = function(exact)
        y.backward(dy.double())
        tensors |= {f"y_{name}": y.float(), f"dx_{name}": exact.grad.float()}
    save("nonlinearity", tensors)
