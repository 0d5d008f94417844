"""A whole DeepSpeech2 with CTC, small, on a ragged batch, in FP64 and with penstock's names and shapes.

The geometry is deepspeech.pytorch's. Batch norm sees real frames only: utterances are convolved and recur one
by one, without padding, and are joined for the norm.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

LENGTHS = (37, 11, 61, 26)  # feature frames; 19, 6, 31, 13 at the loss
LABELS = ([3, 1, 1, 4], [5], [2, 6, 6, 1, 3, 5, 4, 2, 2, 1], [])
CLASSES = 7


class DeepSpeech2(nn.Module):
    def __init__(s, features, channels, rnn, hidden, layers, bidirectional, lookahead):
        super().__init__()
        s.conv1 = nn.Conv2d(1, channels, (41, 11), (2, 2), (20, 5), bias=False)
        s.conv2 = nn.Conv2d(channels, channels, (21, 11), (2, 1), (10, 5), bias=False)
        s.norm1, s.norm2 = nn.BatchNorm1d(channels), nn.BatchNorm1d(channels)
        frequencies = ((features + 1) // 2 + 1) // 2
        cell = dict(gru=nn.GRU, lstm=nn.LSTM)[rnn]
        sizes = [frequencies * channels] + [hidden] * (layers - 1)
        s.rnns = nn.ModuleList([cell(n, hidden, bidirectional=bidirectional) for n in sizes])
        s.norms = nn.ModuleList([nn.BatchNorm1d(hidden) for _ in range(layers)])
        s.lookahead = nn.Conv1d(hidden, hidden, lookahead, groups=hidden, bias=False) if lookahead else None
        s.output = nn.Linear(hidden, CLASSES, bias=False)
        s.hidden, s.channels, s.frequencies = hidden, channels, frequencies

    def join(s, norm, xs):  # of utterances [frames, channels] or [channels, frequencies, frames]
        rows = [x.permute(2, 1, 0).reshape(-1, x.shape[0]) if x.dim() == 3 else x for x in xs]
        ys = norm(torch.cat(rows)).split([len(r) for r in rows])
        return [y.reshape(x.shape[2], x.shape[1], -1).permute(2, 1, 0) if x.dim() == 3 else y for x, y in zip(xs, ys)]

    def forward(s, xs_FT):
        xs = [x[None] for x in xs_FT]
        for conv, norm in ((s.conv1, s.norm1), (s.conv2, s.norm2)):
            xs = [F.hardtanh(x, 0, 20) for x in s.join(norm, [conv(x[None])[0] for x in xs])]
        xs = [x.reshape(-1, x.shape[-1]).T for x in xs]  # [frames, c * F + f]
        for i, rnn in enumerate(s.rnns):
            if i: xs = s.join(s.norms[i - 1], xs)
            xs = [rnn(x[:, None])[0][:, 0] for x in xs]
            xs = [x[:, :s.hidden] + x[:, s.hidden:] if rnn.bidirectional else x for x in xs]
        if s.lookahead is not None:
            look = lambda x: s.lookahead(F.pad(x.T, (0, s.lookahead.kernel_size[0] - 1))[None])[0].T
            xs = [F.hardtanh(look(x), 0, 20) for x in xs]
        return [s.output(x) for x in s.join(s.norms[-1], xs)]

    def named(s, of):
        """penstock's parameters, or what `of` makes of PyTorch's."""
        out = {"conv1.weight": of(s.conv1.weight), "conv2.weight": of(s.conv2.weight),
               "output.weight": of(s.output.weight)}
        for name, norm in [("norm1", s.norm1), ("norm2", s.norm2), ("output.norm", s.norms[-1])] + [
                (f"rnn{i + 2}.norm", norm) for i, norm in enumerate(s.norms[:-1])]:
            out |= {f"{name}.weight": of(norm.weight), f"{name}.bias": of(norm.bias)}
        for i, rnn in enumerate(s.rnns):
            both = lambda what: [of(getattr(rnn, f"{what}_l0{d}")) for d in ("", "_reverse")[:1 + rnn.bidirectional]]
            weight = torch.cat(both("weight_ih"))
            if i == 0:  # columns c * F + f become f * C + c
                weight = weight.reshape(-1, s.channels, s.frequencies).transpose(1, 2).reshape(weight.shape)
            out |= {f"rnn{i + 1}.input.weight": weight, f"rnn{i + 1}.input.bias": torch.cat(both("bias_ih")),
                    f"rnn{i + 1}.weight": torch.stack(both("weight_hh")),
                    f"rnn{i + 1}.bias": torch.stack(both("bias_hh"))}
        if s.lookahead is not None: out["lookahead.weight"] = of(s.lookahead.weight)[:, 0]
        return out


def case(save, name, features, **options):
    model = DeepSpeech2(features, **options)  # FP32 values, FP64 arithmetic
    for norm in [m for m in model.modules() if isinstance(m, nn.BatchNorm1d)]:
        nn.init.uniform_(norm.weight, 0.5, 1.5)
        nn.init.uniform_(norm.bias, -0.5, 0.5)
    model.double()
    x = torch.randn(sum(LENGTHS), features)
    logits = model([u.T for u in x.double().split(LENGTHS)])
    lengths = torch.tensor([len(z) for z in logits])
    counts, labels = torch.tensor([len(l) for l in LABELS]), torch.tensor([k for l in LABELS for k in l])
    losses = F.ctc_loss(nn.utils.rnn.pad_sequence(logits).log_softmax(-1), labels, lengths, counts, reduction="none",
                        zero_infinity=True)
    (losses.sum() / len(LABELS)).backward()
    out = dict(x=x, lengths=torch.tensor(LENGTHS), output_lengths=lengths, labels=labels, label_counts=counts,
               losses=losses, logits=torch.cat(logits).float())
    out |= {key: value.float() for key, value in model.named(lambda p: p.detach()).items()}
    out |= {f"d {key}": value for key, value in model.named(lambda p: p.grad).items()}
    save(name, out)


def make(save):
    case(save, "deepspeech2_gru", features=21, channels=3, rnn="gru", hidden=7, layers=3, bidirectional=True, lookahead=0)
    case(save, "deepspeech2_lstm", features=12, channels=2, rnn="lstm", hidden=5, layers=2, bidirectional=False, lookahead=4)
