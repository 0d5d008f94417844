"""Each channel over an utterance's frames: torch.nn.functional.group_norm with a group a channel, utterance by utterance in FP64."""
import torch
import torch.nn.functional as F

LENGTHS, CHANNELS, EPSILON = (7, 2, 13, 41), 37, 1e-5


def make(save):
    x = (torch.randn(sum(LENGTHS), CHANNELS) * 2 + 30).double().requires_grad_()  # sums of squares would cancel
    weight = (torch.rand(CHANNELS) + 0.5).double().requires_grad_()
    bias = torch.randn(CHANNELS).double().requires_grad_()
    y = torch.cat([F.group_norm(u.T[None], CHANNELS, weight, bias, EPSILON)[0].T for u in x.split(LENGTHS)])
    dy = torch.randn(y.shape).double()
    y.backward(dy)
    save("instance_norm", dict(x=x.float(), lengths=torch.tensor(LENGTHS), weight=weight.float(), bias=bias.float(), y=y.float(),
                               dy=dy.float(), dx=x.grad.float(), dweight=weight.grad.float(), dbias=bias.grad.float()))
