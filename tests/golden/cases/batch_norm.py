"""Batch norm over real frames: torch.nn.functional.batch_norm on the rows, two micro-batches in FP64."""
import torch
import torch.nn.functional as F

EPSILON, MOMENTUM = 1e-5, 0.1


def columns(x, channels):
    return x.reshape(-1, channels)  # [rows, groups * C] with C innermost: one row for each group


def case(save, name, rows, groups, channels):
    weight = (torch.rand(channels) + 0.5).double().requires_grad_()
    bias = torch.randn(channels).double().requires_grad_()
    mean, var = torch.zeros(channels).double(), torch.ones(channels).double()
    out = dict(weight=weight.float(), bias=bias.float())
    pooled = []
    for k, count in enumerate(rows):  # means far from zero: sums of squares would cancel
        x = (torch.randn(count, groups * channels) * (1 + k) + 30).double().requires_grad_()
        y = F.batch_norm(columns(x, channels), None, None, weight, bias, True, 0, EPSILON).reshape(x.shape)
        dy = torch.randn(y.shape).double()
        y.backward(dy)
        pooled.append(columns(x, channels).detach())
        out |= {f"x{k}": x.float(), f"y{k}": y.float(), f"dy{k}": dy.float(), f"dx{k}": x.grad.float()}
    F.batch_norm(torch.cat(pooled), mean, var, None, None, True, MOMENTUM, EPSILON)
    x = torch.randn(5, groups * channels)
    y = F.batch_norm(columns(x.double(), channels), mean, var, weight, bias, False, 0, EPSILON).reshape(x.shape)
    save(name, out | dict(dweight=weight.grad.float(), dbias=bias.grad.float(), running_mean=mean.float(),
                          running_var=var.float(), x_evaluate=x, y_evaluate=y.float()))


def make(save):
    case(save, "batch_norm", rows=(26, 9), groups=1, channels=11)
    case(save, "batch_norm_groups", rows=(26, 3), groups=5, channels=3)
