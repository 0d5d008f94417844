"""torch.optim.AdamW and SGD over several steps, gradients times a factor as after clipping."""
import torch

STEPS, COUNT, FACTOR = 5, 37, 0.37


def steps(optimizer, **options):
    start = torch.randn(COUNT)
    gradients = torch.randn(STEPS, COUNT)
    weight = torch.nn.Parameter(start.double())
    run = optimizer([weight], **options)
    weights = []
    for gradient in gradients:
        weight.grad = gradient.double() * FACTOR
        run.step()
        weights.append(weight.detach().clone().float())
    return dict(start=start, gradients=gradients, weights=torch.stack(weights))


def make(save):
    save("adamw", steps(torch.optim.AdamW, lr=0.03, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1))
    save("sgd", steps(torch.optim.SGD, lr=0.1, momentum=0.9, weight_decay=0.05))
    save("sgd_nesterov", steps(torch.optim.SGD, lr=0.1, momentum=0.9, weight_decay=0.05, nesterov=True))
