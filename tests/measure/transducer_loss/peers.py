#!/usr/bin/env python3
"""One training pass of a transducer's joint network and loss in PyTorch: seconds, and bytes above those of the inputs.

  tests/measure/transducer_loss/peers.py {rnnt|tdt} OUTPUTS

One utterance of 250 frames and 80 labels, 640 channels, FP32, one thread. rnnt is torchaudio's rnnt_loss, tdt transformers' tdt_loss with
five durations. The joint network is relu(x[t] + predicted[u]) and a linear layer, as in penstock's transducer_loss beside this file.
"""
import resource, sys, time
import torch

kind, outputs = sys.argv[1], int(sys.argv[2])
frames, labels, joint = 250, 80, 640
torch.set_num_threads(1)
torch.manual_seed(7)
x = torch.randn(1, frames, joint, requires_grad=True)
predicted = torch.randn(1, labels + 1, joint, requires_grad=True)
durations = [0, 1, 2, 3, 4] if kind == "tdt" else []
linear = torch.nn.Linear(joint, outputs + len(durations))
targets = torch.randint(1, outputs, (1, labels), dtype=torch.int32)
lengths = torch.tensor([frames], dtype=torch.int32), torch.tensor([labels], dtype=torch.int32)
if kind == "tdt":
    from transformers.loss.loss_tdt import tdt_loss
else:
    from torchaudio.functional import rnnt_loss


def step():
    logits = linear(torch.relu(x[:, :, None] + predicted[:, None]))
    if kind == "tdt":
        loss = tdt_loss(logits[..., :outputs], logits[..., outputs:], targets, *lengths, blank_token_id=0, durations=durations, reduction="sum")
    else:
        loss = rnnt_loss(logits, targets, *lengths, blank=0, reduction="sum")
    loss.backward()
    return loss.item()


before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
times = []
for turn in range(5):
    start = time.perf_counter()
    loss = step()
    times.append(time.perf_counter() - start)
peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
print(f"{outputs + len(durations)} outputs: {sorted(times)[2]:.2f} s, {peak / 1e6:.0f} MB, loss {loss:.4f}")
