"""Linear as torch.nn.functional.linear, with and without bias."""
import torch
import torch.nn.functional as F


def make(save):
    for name, has_bias in dict(linear=True, linear_plain=False).items():
        x, weight, bias, dy = (torch.randn(shape).double() for shape in ((26, 7), (9, 7), (9,), (26, 9)))
        leaves = [t.requires_grad_() for t in ([x, weight, bias] if has_bias else [x, weight])]
        y = F.linear(*leaves)
        y.backward(dy)
        tensors = dict(x=x, weight=weight, y=y, dy=dy, dx=x.grad, dweight=weight.grad)
        if has_bias:
            tensors |= dict(bias=bias, dbias=bias.grad)
        save(name, {key: tensor.detach().float() for key, tensor in tensors.items()})
