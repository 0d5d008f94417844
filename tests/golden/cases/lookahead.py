"""deepspeech.pytorch's Lookahead: depthwise Conv1d over utterances padded with context - 1 zero frames at the end."""
import torch
import torch.nn.functional as F

LENGTHS, CHANNELS = (7, 1, 13, 5), 6


def case(save, name, context):
    x = torch.randn(sum(LENGTHS), CHANNELS).double().requires_grad_()
    weight = torch.randn(CHANNELS, context).double().requires_grad_()
    outs = [F.conv1d(F.pad(u.T, (0, context - 1)), weight[:, None], groups=CHANNELS).T for u in x.split(LENGTHS)]
    y = torch.cat(outs)
    dy = torch.randn(y.shape).double()
    x32, w32, dy32 = x.float(), weight.float(), dy.float()
    y.backward(dy)
    save(name, dict(lengths=torch.tensor(LENGTHS), x=x32, weight=w32, dy=dy32, y=y.float(), dx=x.grad.float(),
                    dweight=weight.grad.float()))


def make(save):
    case(save, "lookahead", context=4)
    case(save, "lookahead_long", context=20)  # longer than every utterance
