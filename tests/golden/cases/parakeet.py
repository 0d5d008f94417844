"""A whole small ParakeetForCTC of transformers (FastConformer with CTC), in FP64 and with penstock's names. Needs transformers.

Its batch norm counts padding in training. Hence three cases: a ragged batch in evaluation and a batch of equal lengths in
training, both as transformers computes them; and a ragged batch in training, for which batch norm is told the real frames.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from transformers import ParakeetCTCConfig, ParakeetForCTC

CLASSES, MELS, WIDTH, HEADS, LAYERS, KERNEL, CHANNELS = 11, 16, 8, 2, 2, 5, 6
RAGGED = (57, 11, 101, 26)  # feature frames; 8, 2, 13, 4 at the loss
LABELS = ([3, 1, 1, 4], [5], [2, 10, 10, 1, 3, 5, 4, 2], [])


class NormOfRealFrames(nn.BatchNorm1d):
    def forward(self, x_BCT):
        real = x_BCT.transpose(1, 2)[self.mask_BT]
        y_BTC = torch.zeros_like(x_BCT.transpose(1, 2))
        y_BTC[self.mask_BT] = F.batch_norm(real, None, None, self.weight, self.bias, True, eps=self.eps)
        return y_BTC.transpose(1, 2)


def make_model():
    config = ParakeetCTCConfig(vocab_size=CLASSES, pad_token_id=0, attn_implementation="sdpa", encoder_config=dict(
        hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS, intermediate_size=4 * WIDTH, conv_kernel_size=KERNEL,
        subsampling_conv_channels=CHANNELS, num_mel_bins=MELS, dropout=0.0, dropout_positions=0.0, layerdrop=0.0,
        activation_dropout=0.0, attention_dropout=0.0))
    model = ParakeetForCTC(config)
    with torch.no_grad():
        for name, p in model.named_parameters():
            scale = p[0].numel() ** -0.5 if p.dim() > 1 and "bias" not in name else 0.3
            p.copy_(scale * torch.randn_like(p) + (1 if "norm" in name and name.endswith("weight") else 0))
        for name, b in model.named_buffers():
            if "running" in name: b.copy_(torch.rand_like(b) + (0.5 if name.endswith("var") else -0.5))
    return model.double()


def image_kernel(w): return w.transpose(-1, -2)  # [time][frequency] as [frequency][time]
def rows_of_frequencies(w): return w.unflatten(1, (CHANNELS, -1)).transpose(1, 2).flatten(1)


def named(tensors):
    """Tensors of a state, or their gradients, under penstock's names and in its shapes."""
    out, take = {}, lambda name: tensors[name]
    def both(ours, theirs, change=lambda w: w):
        out[f"{ours}.weight"], out[f"{ours}.bias"] = change(take(f"{theirs}.weight")), take(f"{theirs}.bias")
    front = "encoder.subsampling"
    both("subsampling.conv1", f"{front}.layers.0", image_kernel)
    for i, at in ((2, 2), (3, 5)):
        both(f"subsampling.conv{i}", f"{front}.layers.{at}", lambda w: image_kernel(w)[:, 0])
        both(f"subsampling.pointwise{i}", f"{front}.layers.{at + 1}", lambda w: w[..., 0, 0])
    both("subsampling.linear", f"{front}.linear", rows_of_frequencies)
    for i in range(LAYERS):
        ours, theirs = f"block{i + 1}", f"encoder.layers.{i}"
        for part in ("feed_forward1", "feed_forward2"):
            both(f"{ours}.{part}.norm", f"{theirs}.norm_{part}")
            for linear in ("linear1", "linear2"): both(f"{ours}.{part}.{linear}", f"{theirs}.{part}.{linear}")
        both(f"{ours}.attention.norm", f"{theirs}.norm_self_att")
        for kind in ("weight", "bias"):
            out[f"{ours}.attention.qkv.{kind}"] = torch.cat([take(f"{theirs}.self_attn.{x}_proj.{kind}") for x in "qkv"])
        out[f"{ours}.attention.core.positions.weight"] = take(f"{theirs}.self_attn.relative_k_proj.weight")
        for x in "uv": out[f"{ours}.attention.core.bias_{x}"] = take(f"{theirs}.self_attn.bias_{x}").flatten()
        both(f"{ours}.attention.output", f"{theirs}.self_attn.o_proj")
        both(f"{ours}.convolution.norm", f"{theirs}.norm_conv")
        for part, conv in (("pointwise1", "pointwise_conv1"), ("pointwise2", "pointwise_conv2")):
            both(f"{ours}.convolution.{part}", f"{theirs}.conv.{conv}", lambda w: w[..., 0])
        both(f"{ours}.convolution.depthwise", f"{theirs}.conv.depthwise_conv", lambda w: w[:, 0])
        both(f"{ours}.convolution.batch_norm", f"{theirs}.conv.norm")
        both(f"{ours}.norm", f"{theirs}.norm_out")
    both("output", "ctc_head", lambda w: w[..., 0])
    return out


def states(model):
    return {f"block{i + 1}.convolution.batch_norm.{kind}": getattr(layer.conv.norm, kind)
            for i, layer in enumerate(model.encoder.layers) for kind in ("running_mean", "running_var")}


def run(model, lengths):
    """Inputs, and what comes out; losses with blank 0."""
    xs = [torch.randn(n, MELS) for n in lengths]
    keep = (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]).long()
    ends = model._get_subsampling_output_length(keep.sum(-1))
    mask = torch.arange(int(ends.max())) < ends[:, None]
    for layer in model.encoder.layers: layer.conv.norm.mask_BT = mask
    logits = model(input_features=nn.utils.rnn.pad_sequence(xs, batch_first=True).double(), attention_mask=keep).logits
    counts, labels = torch.tensor([len(l) for l in LABELS]), torch.tensor([k for l in LABELS for k in l])
    losses = F.ctc_loss(logits.log_softmax(-1).transpose(0, 1), labels, ends, counts, reduction="none", zero_infinity=True)
    out = dict(x=torch.cat(xs), lengths=torch.tensor(lengths), output_lengths=ends, labels=labels, label_counts=counts,
               losses=losses, logits=logits[mask].float())
    return out | {k: v.float() for k, v in named(dict(model.named_parameters())).items()}


def training(save, name, lengths, real_frames):
    model = make_model().train()
    if real_frames:
        for layer in model.encoder.layers:
            layer.conv.norm.__class__ = NormOfRealFrames
    out = run(model, lengths)
    (out["losses"].sum() / len(LABELS)).backward()
    gradients = named({k: p.grad for k, p in model.named_parameters()})
    # Batch norm takes away what a bias before it adds: its gradient is 0, up to rounding.
    save(name, out | {f"d {k}": v * (not k.endswith("depthwise.bias")) for k, v in gradients.items()})


def make(save):
    training(save, "parakeet", RAGGED, real_frames=True)
    training(save, "parakeet_equal", (61,) * 4, real_frames=False)
    model = make_model().eval()
    save("parakeet_evaluation", run(model, RAGGED) | {k: v.float() for k, v in states(model).items()})
