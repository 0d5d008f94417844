"""2-D convolutions as torch.nn.functional.conv2d, each utterance by itself."""
import torch
import torch.nn.functional as F

LENGTHS = [37, 5, 61, 22]


def rows(x_CFT):
    """[channel][frequency][time] as frames of [frequency][channel]."""
    return x_CFT.permute(2, 1, 0).flatten(1)


def case(channels_in, channels_out, frequencies, kernel, stride, padding, bias=False):
    w = (torch.rand(channels_out, channels_in, *kernel) - 0.5).requires_grad_()
    xs = [torch.randn(channels_in, frequencies, n).requires_grad_() for n in LENGTHS]
    b = torch.randn(channels_out).requires_grad_() if bias else None
    ys = [F.conv2d(x.double()[None], w.double(), b.double() if bias else None, stride, padding)[0] for x in xs]
    dys = [torch.randn(y.shape) for y in ys]
    torch.autograd.backward(ys, [dy.double() for dy in dys])
    join = lambda parts: torch.cat([rows(p) for p in parts]).float()
    biases = dict(bias=b, dbias=b.grad) if bias else {}
    return biases | dict(lengths=torch.tensor(LENGTHS), x=join(xs), weight=w, y=join(ys), dy=join(dys),
                dx=join([x.grad for x in xs]), dweight=w.grad)


def make(save):
    save("conv1", case(1, 6, 29, (41, 11), (2, 2), (20, 5)))
    save("conv2", case(4, 3, 15, (21, 11), (2, 1), (10, 5)))
    save("conv2d_bias", case(3, 5, 9, (3, 3), (2, 2), (1, 1), bias=True))  # a Conformer's subsampling
