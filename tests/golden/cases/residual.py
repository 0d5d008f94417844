"""A Conformer's half feed-forward: x + 1/2 · Linear(SiLU(Linear(LayerNorm(x)))), in FP64."""
import torch
import torch.nn as nn

FRAMES, WIDTH, INNER = 26, 9, 20


def make(save):
    parts = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, INNER), nn.SiLU(), nn.Linear(INNER, WIDTH)).double()
    with torch.no_grad():
        for p in parts.parameters():
            p.copy_(torch.randn_like(p))
    x = torch.randn(FRAMES, WIDTH).double().requires_grad_()
    y = x + 0.5 * parts(x)
    dy = torch.randn(y.shape).double()
    tensors = dict(x=x.float(), dy=dy.float()) | {key: p.float() for key, p in parts.named_parameters()}
    y.backward(dy)
    save("residual", tensors | {f"d{key}": p.grad.float() for key, p in parts.named_parameters()}
         | dict(y=y.float(), dx=x.grad.float()))
