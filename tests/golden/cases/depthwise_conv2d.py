"""Depthwise 2-D convolutions as torch.nn.functional.conv2d with as many groups as channels, each utterance by itself."""
import torch
import torch.nn.functional as F

from .conv2d import LENGTHS, rows


def case(channels, frequencies, kernel, stride, padding, bias=False):
    w = (torch.rand(channels, *kernel) - 0.5).requires_grad_()
    xs = [torch.randn(channels, frequencies, n).requires_grad_() for n in LENGTHS]
    b = torch.randn(channels).requires_grad_() if bias else None
    ys = [F.conv2d(x.double()[None], w.double()[:, None], b.double() if bias else None, stride, padding, groups=channels)[0]
          for x in xs]
    dys = [torch.randn(y.shape) for y in ys]
    torch.autograd.backward(ys, [dy.double() for dy in dys])
    join = lambda parts: torch.cat([rows(p) for p in parts]).float()
    biases = dict(bias=b, dbias=b.grad) if bias else {}
    return biases | dict(lengths=torch.tensor(LENGTHS), x=join(xs), weight=w, y=join(ys), dy=join(dys),
                dx=join([x.grad for x in xs]), dweight=w.grad)


def make(save):
    save("depthwise_conv2d", case(5, 9, (3, 3), (2, 2), (1, 1), bias=True))  # FastConformer's subsampling
    save("depthwise_conv2d_uneven", case(3, 7, (2, 4), (1, 3), (0, 2)))
