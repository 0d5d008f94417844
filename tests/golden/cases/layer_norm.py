"""torch.nn.functional.layer_norm and rms_norm over the channels of each frame, in FP64."""
import torch
import torch.nn.functional as F

FRAMES, CHANNELS, EPSILON = 26, 37, 1e-5


def case(save, name, norm, names):
    x = (torch.randn(FRAMES, CHANNELS) * 2 + 30).double().requires_grad_()  # sums of squares would cancel
    with torch.no_grad():
        x[3] = 30  # no deviation
    numbers = {key: torch.randn(CHANNELS).double().requires_grad_() for key in names}
    y = norm(x, *numbers.values())
    dy = torch.randn(y.shape).double()
    tensors = dict(x=x.float(), dy=dy.float()) | {key: value.float() for key, value in numbers.items()}
    y.backward(dy)
    gradients = {f"d{key}": value.grad.float() for key, value in numbers.items()}
    save(name, tensors | gradients | dict(y=y.float(), dx=x.grad.float()))


def make(save):
    case(save, "layer_norm", lambda x, w, b: F.layer_norm(x, (CHANNELS,), w, b, EPSILON), ("weight", "bias"))
    case(save, "rms_norm", lambda x, w: F.rms_norm(x, (CHANNELS,), w, EPSILON), ("weight",))
