"""Depthwise Conv1d over utterances padded with zero frames: before the first and behind the last, so many that as many
frames come out. deepspeech.pytorch's Lookahead pads behind alone."""
import torch
import torch.nn.functional as F

LENGTHS, CHANNELS = (7, 1, 13, 5), 6


def case(save, name, kernel, left=0, with_bias=False, gated=False):
    x = torch.randn(sum(LENGTHS), 2 * CHANNELS if gated else CHANNELS).double().requires_grad_()
    weight = torch.randn(CHANNELS, kernel).double().requires_grad_()
    padding = (left, kernel - 1 - left)
    bias = torch.randn(CHANNELS).double().requires_grad_() if with_bias else None
    outs = [F.conv1d(F.pad(u.T, padding), weight[:, None], bias, groups=CHANNELS).T
            for u in (F.glu(x) if gated else x).split(LENGTHS)]
    y = torch.cat(outs)
    dy = torch.randn(y.shape).double()
    x32, w32, dy32 = x.float(), weight.float(), dy.float()
    y.backward(dy)
    biases = dict(bias=bias.detach().float(), dbias=bias.grad.float()) if with_bias else {}
    save(name, biases | dict(lengths=torch.tensor(LENGTHS), left=torch.tensor([left]), x=x32, weight=w32, dy=dy32, y=y.float(),
                    dx=x.grad.float(), dweight=weight.grad.float()))


def make(save):
    case(save, "lookahead", kernel=4)
    case(save, "lookahead_long", kernel=20)  # longer than every utterance
    case(save, "depthwise_conv1d", kernel=5, left=2, with_bias=True)
    case(save, "depthwise_conv1d_long", kernel=31, left=15)
    case(save, "depthwise_conv1d_causal", kernel=4, left=3)
    case(save, "depthwise_conv1d_gated", kernel=9, left=4, with_bias=True, gated=True)
