"""The whole audio tower and projector of transformers' Qwen3ASRForConditionalGeneration with CTC, small, with random weights, on a
ragged batch, in FP64 and with penstock's names. Chunks have 100 frames, and a window of attention two of them."""
import torch
import torch.nn as nn
import torch.nn.functional as F

LENGTHS = (437, 12, 197, 200, 89)  # feature frames; 57, 2, 26, 26, 12 at the loss
LABELS = ([3, 1, 1, 4], [5], [2, 6, 6, 1, 3, 5, 4, 2], [], [4, 4])
WIDTH, FEATURES, CHANNELS, CLASSES = 12, 9, 4, 7


def frequency_first(weight):
    """Columns [channel][frequency] become [frequency][channel]."""
    return weight.unflatten(1, (CHANNELS, -1)).transpose(1, 2).flatten(1)


def named(tower, projector, values):
    """penstock's tensors, of which values() gives the numbers."""
    renamed = {f"conv2d{i}": f"frontend.conv{i}" for i in (1, 2, 3)} | {"ln_post": "norm"}
    for i in range(len(tower.layers)):
        block = {"self_attn_layer_norm": "attention.norm", "self_attn.out_proj": "attention.output",
                 "final_layer_norm": "feed_forward.norm", "fc1": "feed_forward.linear1", "fc2": "feed_forward.linear2"}
        renamed |= {f"layers.{i}.{a}": f"block{i + 1}.{b}" for a, b in block.items()}
    modules = dict(tower.named_modules())
    out = {f"{b}.{p}": values(number) for a, b in renamed.items() for p, number in modules[a].named_parameters()}
    for a, b in (("linear_1", "projector.linear"), ("linear_2", "output")):
        out |= {f"{b}.{p}": values(number) for p, number in getattr(projector, a).named_parameters()}
    out["frontend.linear.weight"] = frequency_first(values(tower.conv_out.weight))
    for i, layer in enumerate(tower.layers):
        parts = [getattr(layer.self_attn, f"{name}_proj") for name in "qkv"]
        for p in ("weight", "bias"):
            out[f"block{i + 1}.attention.qkv.{p}"] = torch.cat([values(getattr(part, p)) for part in parts])
    return out


def exact_positions():
    """The table of transformers is computed in FP32."""
    steps = 10000 ** (-torch.arange(WIDTH // 2).double() / (WIDTH // 2 - 1))
    angles = torch.arange(13).double()[:, None] * steps
    return torch.cat([angles.sin(), angles.cos()], 1)


def encode(tower, utterances):
    """What comes out for utterances [frames, features], padded together as the feature extractor pads them."""
    longest = -(-max(len(u) for u in utterances) // 100) * 100
    padded = torch.stack([F.pad(u.T, (0, longest - len(u))) for u in utterances])
    mask = torch.stack([(torch.arange(longest) < len(u)).long() for u in utterances])
    return tower(padded, mask).last_hidden_state


def make(save):
    from transformers import Qwen3ASRConfig  # only here: the other cases do without
    from transformers.models.qwen3_asr.modeling_qwen3_asr import Qwen3ASREncoder, Qwen3ASRMultiModalProjector
    config = Qwen3ASRConfig(audio_config=dict(
        d_model=WIDTH, encoder_layers=2, encoder_attention_heads=3, encoder_ffn_dim=20, num_mel_bins=FEATURES, output_dim=CLASSES,
        downsample_hidden_size=CHANNELS, n_window_infer=200))
    tower, projector = Qwen3ASREncoder(config.audio_config).train(), Qwen3ASRMultiModalProjector(config)
    for name, parameter in [*tower.named_parameters(), *projector.named_parameters()]:  # norms and biases too
        parameter.data = (torch.randn(parameter.shape) * 0.3 + (parameter.dim() == 1) * 0.5).float()
    tower, projector = tower.double(), projector.double()
    assert (exact_positions() - tower.positional_embedding.positional_embedding).abs().max() < 1e-6
    tower.positional_embedding.positional_embedding = exact_positions()
    x = torch.randn(sum(LENGTHS), FEATURES)
    alone = [encode(tower, [u]) for u in x.double().split(LENGTHS)]
    assert (torch.cat(alone) - encode(tower, x.double().split(LENGTHS))).abs().max() < 1e-12
    logits = [projector(h) for h in alone]
    lengths = torch.tensor([len(z) for z in logits])
    counts, labels = torch.tensor([len(l) for l in LABELS]), torch.tensor([k for l in LABELS for k in l])
    losses = F.ctc_loss(nn.utils.rnn.pad_sequence(logits).log_softmax(-1), labels, lengths, counts, reduction="none", zero_infinity=True)
    (losses.sum() / len(LABELS)).backward()
    out = dict(x=x, lengths=torch.tensor(LENGTHS), output_lengths=lengths, labels=labels, label_counts=counts, losses=losses,
               logits=torch.cat(logits).float())
    save("qwen3_asr", out | {k: v.float() for k, v in named(tower, projector, lambda p: p.detach()).items()}
         | {f"d {k}": v for k, v in named(tower, projector, lambda p: p.grad).items()})
