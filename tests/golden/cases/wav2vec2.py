"""Whole models of transformers, small, with random weights, on a ragged batch of samples, in FP64 and with penstock's names:
Wav2Vec2ForCTC with the norms of large models and of base ones, HubertForCTC with a mixture and no norm before its projection, and
OmniASRForCTC, whose convolution of positions has no weight norm, and Wav2Vec2ForCTC with the adapters of MMS.
Utterances are computed one by one, without padding."""
import torch
import torch.nn as nn
import torch.nn.functional as F

LENGTHS = (337, 151, 702, 260)  # samples; 16, 6, 34, 12 at the loss
LABELS = ([3, 1, 1, 4], [5], [2, 6, 6, 1, 3, 5, 4, 2], [])


def names(blocks, convolutions):
    """penstock's name of each of transformers' modules."""
    of = {"feature_projection.layer_norm": "projection.norm", "feature_projection.projection": "projection.linear",
          "encoder.layer_norm": "norm"}
    for i in range(convolutions):
        of |= {f"feature_extractor.conv_layers.{i}.{a}": f"frontend.{b}{i + 1}" for a, b in (("conv", "conv"), ("layer_norm", "norm"))}
    for i in range(blocks):
        block = {"layer_norm": "attention.norm", "attention.out_proj": "attention.output", "final_layer_norm": "feed_forward.norm",
                 "feed_forward.intermediate_dense": "feed_forward.linear1", "feed_forward.output_dense": "feed_forward.linear2",
                 "adapter_layer.norm": "adapter.norm", "adapter_layer.linear_1": "adapter.linear1",
                 "adapter_layer.linear_2": "adapter.linear2"}
        of |= {f"encoder.layers.{i}.{a}": f"block{i + 1}.{b}" for a, b in block.items()}
    return of


def named_omniasr(model, values, blocks):
    """The same for OmniASRForCTC."""
    tower = model.model.audio_tower
    renamed = {"subsampling.layer_norm": "projection.norm", "subsampling.projection": "projection.linear", "layer_norm": "norm",
               "encode_positions.conv": "positions.conv"}
    for i in range(len(tower.subsampling.conv_layers)):
        renamed |= {f"subsampling.conv_layers.{i}.{a}": f"frontend.{b}{i + 1}" for a, b in (("conv", "conv"), ("layer_norm", "norm"))}
    renamed |= {a.removeprefix("encoder."): b for a, b in names(blocks, 0).items() if ".layers." in a}
    modules = dict(tower.named_modules())
    out = {f"{b}.{p}": values(number) for a, b in renamed.items() if a in modules for p, number in modules[a].named_parameters()}
    out |= {f"output.{p}": values(number) for p, number in model.ctc_head.named_parameters()}
    return out | joined_attention(tower.layers, values)


def joined_attention(layers, values):
    return {f"block{i + 1}.attention.qkv.{p}": torch.cat([values(getattr(layer.attention, f"{q}_proj").get_parameter(p)) for q in "qkv"])
            for i, layer in enumerate(layers) for p in ("weight", "bias")}


def named(model, values, blocks, convolutions):
    """Parameters, or their gradients, by penstock's names."""
    if hasattr(model, "ctc_head"):
        return named_omniasr(model, values, blocks)
    base = model.base_model
    modules = dict(base.named_modules())
    out = {f"{b}.{p}": values(number) for a, b in names(blocks, convolutions).items() if a in modules
           for p, number in modules[a].named_parameters()}
    out |= {f"output.{p}": values(number) for p, number in model.lm_head.named_parameters()}
    conv = base.encoder.pos_conv_embed.conv
    out |= {"positions.conv.weight_g": values(conv.parametrizations.weight.original0),
            "positions.conv.weight_v": values(conv.parametrizations.weight.original1), "positions.conv.bias": values(conv.bias)}
    return out | joined_attention(base.encoder.layers, values)


def case(save, name, kind, settings, **norms):
    off = dict.fromkeys(("hidden_dropout", "activation_dropout", "attention_dropout", "layerdrop"), 0.0)
    sizes = dict(hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20, conv_dim=(6, 6, 6),
                 conv_kernel=(10, 3, 2), conv_stride=(5, 2, 2), num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=3)
    if "audio" in norms:
        config = settings(vocab_size=7, audio_config=norms["audio"] | sizes | off)
    else:
        off |= dict.fromkeys(("feat_proj_dropout", "final_dropout", "mask_time_prob"), 0.0)
        config = settings(vocab_size=7, **sizes, **norms, **off)
    model = kind(config).train()
    for parameter in model.parameters():  # norms and biases too
        parameter.data = (torch.randn(parameter.shape) * 0.3 + (parameter.dim() == 1) * 0.5).float()
    model = model.double()
    x = torch.randn(sum(LENGTHS), 1)
    raw = (lambda u: u.T[None]) if "audio" in norms else (lambda u: u.T)  # [1, 1, samples], or [1, samples]
    logits = [model(raw(u)).logits[0] for u in x.double().split(LENGTHS)]
    lengths = torch.tensor([len(z) for z in logits])
    counts, labels = torch.tensor([len(l) for l in LABELS]), torch.tensor([k for l in LABELS for k in l])
    losses = F.ctc_loss(nn.utils.rnn.pad_sequence(logits).log_softmax(-1), labels, lengths, counts, reduction="none", zero_infinity=True)
    (losses.sum() / len(LABELS)).backward()
    out = dict(x=x, lengths=torch.tensor(LENGTHS), output_lengths=lengths, labels=labels, label_counts=counts, losses=losses,
               logits=torch.cat(logits).float())
    save(name, out | {k: v.float() for k, v in named(model, lambda p: p.detach(), 2, 3).items()}
         | {f"d {k}": v for k, v in named(model, lambda p: p.grad, 2, 3).items()})


def make(save):
    from transformers import (  # only here: the other cases do without
        HubertConfig, HubertForCTC, OmniASRCTCConfig, OmniASRForCTC, Wav2Vec2Config, Wav2Vec2ForCTC)
    large = dict(feat_extract_norm="layer", conv_bias=True, do_stable_layer_norm=True)
    case(save, "wav2vec2", Wav2Vec2ForCTC, Wav2Vec2Config, **large)
    case(save, "wav2vec2_base", Wav2Vec2ForCTC, Wav2Vec2Config)
    case(save, "hubert", HubertForCTC, HubertConfig, feat_extract_norm="layer", feat_proj_layer_norm=False)
    case(save, "omniasr", OmniASRForCTC, OmniASRCTCConfig, audio=dict(model_type="omniasr_audio"))
    case(save, "mms", Wav2Vec2ForCTC, Wav2Vec2Config, **large, adapter_attn_dim=5)
