"""Conv1d over utterances, each with zeros of its own before and after; the last case with a length for each tap, as wav2vec 2.0's
positions are convolved."""
import torch
import torch.nn.functional as F

LENGTHS, IN, OUT = (17, 9, 31, 12), 6, 9


def case(save, name, kernel, groups=1, stride=1, dilation=1, padding=(0, 0), bias=False, weight_norm=False):
    x = torch.randn(sum(LENGTHS), IN).double().requires_grad_()
    leaves = dict(weight=torch.randn(OUT, IN // groups, kernel))
    if weight_norm:
        leaves = dict(weight_g=torch.rand(1, 1, kernel) + 0.5, weight_v=leaves["weight"])
    if bias:
        leaves["bias"] = torch.randn(OUT)
    leaves = {k: v.double().requires_grad_() for k, v in leaves.items()}
    weight = torch._weight_norm(leaves["weight_v"], leaves["weight_g"], 2) if weight_norm else leaves["weight"]
    outs = [F.conv1d(F.pad(u.T, padding), weight, leaves.get("bias"), stride, 0, dilation, groups).T for u in x.split(LENGTHS)]
    y = torch.cat(outs)
    dy = torch.randn(y.shape).double()
    y.backward(dy)
    save(name, dict(lengths=torch.tensor(LENGTHS), options=torch.tensor([groups, kernel, stride, dilation, *padding]), x=x.float(),
                    dy=dy.float(), y=y.float(), dx=x.grad.float()) | {k: v.float() for k, v in leaves.items()}
         | {f"d{k}": v.grad.float() for k, v in leaves.items()})


def make(save):
    case(save, "conv1d_strided", kernel=5, stride=3, bias=True)
    case(save, "conv1d_gaps", kernel=3, stride=5)  # inputs that no output sees
    case(save, "conv1d_grouped", kernel=4, groups=3, stride=2, padding=(1, 2))
    case(save, "conv1d_dilated", kernel=4, dilation=3, padding=(2, 5), bias=True)
    case(save, "conv1d_causal", kernel=4, dilation=2, padding=(6, 0))
    case(save, "conv1d_weight_norm", kernel=8, groups=3, padding=(4, 3), bias=True, weight_norm=True)
    case(save, "conv1d_two_taps", kernel=3, stride=2, bias=True)  # the first and last tap see the same frames
