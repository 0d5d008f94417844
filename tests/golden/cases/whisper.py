"""A whole WhisperEncoder of transformers with CTC, small, with random weights, on a ragged batch, in FP64 and with penstock's names.
Utterances are computed one by one, without padding to 30 s. Keys have no bias, so that of q, k and v has two thirds."""
import torch
import torch.nn as nn
import torch.nn.functional as F

LENGTHS = (37, 12, 61, 25)  # feature frames; 19, 6, 31, 13 at the loss
LABELS = ([3, 1, 1, 4], [5], [2, 6, 6, 1, 3, 5, 4, 2], [])
WIDTH, FEATURES, CLASSES = 12, 9, 7


def encode(encoder, x_FC):
    """What WhisperEncoder.forward() computes, for any number of frames."""
    h = F.gelu(encoder.conv2(F.gelu(encoder.conv1(x_FC.T[None])))).transpose(1, 2)
    h = h + encoder.embed_positions.weight[:h.shape[1]]
    for layer in encoder.layers:
        h = layer(h, None)
        h = h[0] if isinstance(h, tuple) else h
    return encoder.layer_norm(h)[0]


def named(encoder, output, values):
    renamed = {"conv1": "frontend.conv1", "conv2": "frontend.conv2", "layer_norm": "norm"}
    for i in range(len(encoder.layers)):
        block = {"self_attn_layer_norm": "attention.norm", "self_attn.out_proj": "attention.output",
                 "final_layer_norm": "feed_forward.norm", "fc1": "feed_forward.linear1", "fc2": "feed_forward.linear2"}
        renamed |= {f"layers.{i}.{a}": f"block{i + 1}.{b}" for a, b in block.items()}
    modules = dict(encoder.named_modules())
    out = {f"{b}.{p}": values(number) for a, b in renamed.items() for p, number in modules[a].named_parameters()}
    out |= {f"output.{p}": values(number) for p, number in output.named_parameters()}
    for i, layer in enumerate(encoder.layers):
        q, k, v = (getattr(layer.self_attn, f"{name}_proj") for name in "qkv")
        out[f"block{i + 1}.attention.qkv.weight"] = torch.cat([values(part.weight) for part in (q, k, v)])
        out[f"block{i + 1}.attention.qkv.bias"] = torch.cat([values(q.bias), values(v.bias)])
    return out


def make(save):
    from transformers import WhisperConfig  # only here: the other cases do without
    from transformers.models.whisper.modeling_whisper import WhisperEncoder
    config = WhisperConfig(d_model=WIDTH, encoder_layers=2, encoder_attention_heads=3, encoder_ffn_dim=20, num_mel_bins=FEATURES,
                           max_source_positions=31, dropout=0.0, attention_dropout=0.0, activation_dropout=0.0, encoder_layerdrop=0.0)
    encoder, output = WhisperEncoder(config).train(), nn.Linear(WIDTH, CLASSES)
    for name, parameter in [*encoder.named_parameters(), *output.named_parameters()]:  # norms and biases too
        if name != "embed_positions.weight":
            parameter.data = (torch.randn(parameter.shape) * 0.3 + (parameter.dim() == 1) * 0.5).float()
    encoder, output = encoder.double(), output.double()
    # In FP64, because transformers' table is of FP32.
    steps = 10000 ** (-torch.arange(WIDTH // 2).double() / (WIDTH // 2 - 1))
    angles = torch.arange(31).double()[:, None] * steps
    exact = torch.cat([angles.sin(), angles.cos()], 1)
    assert (exact - encoder.embed_positions.weight).abs().max() < 1e-6
    encoder.embed_positions.weight.data = exact
    whole = torch.randn(62, FEATURES).double()
    assert (encoder(whole.T[None]).last_hidden_state[0] - encode(encoder, whole)).abs().max() < 1e-12
    x = torch.randn(sum(LENGTHS), FEATURES)
    logits = [output(encode(encoder, u)) for u in x.double().split(LENGTHS)]
    lengths = torch.tensor([len(z) for z in logits])
    counts, labels = torch.tensor([len(l) for l in LABELS]), torch.tensor([k for l in LABELS for k in l])
    losses = F.ctc_loss(nn.utils.rnn.pad_sequence(logits).log_softmax(-1), labels, lengths, counts, reduction="none", zero_infinity=True)
    (losses.sum() / len(LABELS)).backward()
    out = dict(x=x, lengths=torch.tensor(LENGTHS), output_lengths=lengths, labels=labels, label_counts=counts, losses=losses,
               logits=torch.cat(logits).float())
    save("whisper", out | {k: v.float() for k, v in named(encoder, output, lambda p: p.detach()).items()}
         | {f"d {k}": v for k, v in named(encoder, output, lambda p: p.grad).items()})
