"""timm's LAMB, NovoGrad and LARC (LARS that only ever slows down) over several steps on two parameters of unlike
size and magnitude, gradients times a factor as after clipping. Needs timm as well."""
import timm.optim
import torch

STEPS, COUNTS, FACTOR = 5, (37, 5), 0.37


def steps(optimizer, **options):
    starts = [torch.randn(COUNTS[0]), 10 * torch.randn(COUNTS[1])]
    gradients = [torch.randn(STEPS, COUNTS[0]), 0.1 * torch.randn(STEPS, COUNTS[1])]
    parameters = [torch.nn.Parameter(start.double()) for start in starts]
    run = optimizer(parameters, **options)
    weights = [[], []]
    for step in range(STEPS):
        for i, parameter in enumerate(parameters):
            parameter.grad = gradients[i][step].double() * FACTOR
        run.step()
        for i, parameter in enumerate(parameters):
            weights[i].append(parameter.detach().clone().float())
    tensors = {}
    for i in range(2):
        tensors |= {f"start.{i}": starts[i], f"gradients.{i}": gradients[i], f"weights.{i}": torch.stack(weights[i])}
    return tensors


def make(save):
    save("lamb", steps(timm.optim.Lamb, lr=0.03, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1, max_grad_norm=None))
    save("lamb_plain", steps(timm.optim.Lamb, lr=0.03, betas=(0.8, 0.95), eps=1e-6, weight_decay=0,
                             max_grad_norm=None))
    save("novograd", steps(timm.optim.NvNovoGrad, lr=0.03, betas=(0.95, 0.98), eps=1e-6, weight_decay=0.1))
    save("larc", steps(timm.optim.Lars, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.05, trust_coeff=0.02,
                       eps=1e-8, trust_clip=True))
