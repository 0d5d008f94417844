"""A whole small Wav2Vec2BertForCTC of transformers (w2v-BERT 2.0 with CTC) in training, in FP64 and with penstock's names.
Needs transformers."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from transformers import Wav2Vec2BertConfig, Wav2Vec2BertForCTC

CLASSES, FEATURES, WIDTH, HEADS, LAYERS, KERNEL, LEFT, RIGHT = 11, 14, 12, 3, 2, 5, 4, 2
LENGTHS = (13, 2, 21, 5)  # of frames, at the loss as well
LABELS = ([3, 1, 1, 4], [5], [2, 10, 10, 1, 3, 5, 4, 2], [])


def make_model():
    model = Wav2Vec2BertForCTC(Wav2Vec2BertConfig(
        vocab_size=CLASSES, hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS, intermediate_size=3 * WIDTH,
        feature_projection_input_dim=FEATURES, conv_depthwise_kernel_size=KERNEL, left_max_position_embeddings=LEFT,
        right_max_position_embeddings=RIGHT, layerdrop=0.0, final_dropout=0.0, conformer_conv_dropout=0.0, apply_spec_augment=False,
        mask_time_prob=0.0))
    with torch.no_grad():
        for name, p in model.named_parameters():
            scale = p[0].numel() ** -0.5 if p.dim() > 1 else 0.3
            p.copy_(scale * torch.randn_like(p) + (1 if "norm" in name and name.endswith("weight") else 0))
    return model.double().train()


def named(tensors):
    """Parameters, or their gradients, under penstock's names and in its shapes."""
    out = {}
    def both(ours, theirs):
        for kind in ("weight", "bias"):
            if f"{theirs}.{kind}" in tensors: out[f"{ours}.{kind}"] = tensors[f"{theirs}.{kind}"].squeeze(-1)
    both("projection.norm", "wav2vec2_bert.feature_projection.layer_norm")
    both("projection.linear", "wav2vec2_bert.feature_projection.projection")
    for i in range(LAYERS):
        ours, theirs = f"block{i + 1}", f"wav2vec2_bert.encoder.layers.{i}"
        for part, unit in (("feed_forward1", "ffn1"), ("feed_forward2", "ffn2")):
            both(f"{ours}.{part}.norm", f"{theirs}.{unit}_layer_norm")
            both(f"{ours}.{part}.linear1", f"{theirs}.{unit}.intermediate_dense")
            both(f"{ours}.{part}.linear2", f"{theirs}.{unit}.output_dense")
        both(f"{ours}.attention.norm", f"{theirs}.self_attn_layer_norm")
        for kind in ("weight", "bias"):
            out[f"{ours}.attention.qkv.{kind}"] = torch.cat([tensors[f"{theirs}.self_attn.linear_{x}.{kind}"] for x in "qkv"])
        both(f"{ours}.attention.core.positions", f"{theirs}.self_attn.distance_embedding")
        both(f"{ours}.attention.output", f"{theirs}.self_attn.linear_out")
        for part, name in (("norm", "layer_norm"), ("pointwise1", "pointwise_conv1"), ("depthwise_norm", "depthwise_layer_norm"),
                           ("pointwise2", "pointwise_conv2")):
            both(f"{ours}.convolution.{part}", f"{theirs}.conv_module.{name}")
        out[f"{ours}.convolution.depthwise.weight"] = tensors[f"{theirs}.conv_module.depthwise_conv.weight"][:, 0]
        both(f"{ours}.norm", f"{theirs}.final_layer_norm")
    both("output", "lm_head")
    return {name: tensor.float() for name, tensor in out.items()}


def make(save):
    model = make_model()
    xs, lengths = [torch.randn(n, FEATURES) for n in LENGTHS], torch.tensor(LENGTHS)
    keep = torch.arange(max(LENGTHS)) < lengths[:, None]
    logits = model(input_features=nn.utils.rnn.pad_sequence(xs, batch_first=True).double(), attention_mask=keep.long()).logits
    counts, labels = torch.tensor([len(l) for l in LABELS]), torch.tensor([k for l in LABELS for k in l])
    losses = F.ctc_loss(logits.log_softmax(-1).transpose(0, 1), labels, lengths, counts, reduction="none", zero_infinity=True)
    (losses.sum() / len(LABELS)).backward()
    gradients = named({name: p.grad for name, p in model.named_parameters()})
    save("wav2vec2_bert", dict(x=torch.cat(xs), lengths=lengths, output_lengths=lengths, labels=labels, label_counts=counts,
                               losses=losses, logits=logits[keep].float())
         | named(dict(model.named_parameters())) | {f"d {name}": gradient for name, gradient in gradients.items()})
