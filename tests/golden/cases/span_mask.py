"""Masked frames and channels as Wav2Vec2Model._mask_hidden_states() of transformers, for given masks."""
from unittest import mock

import torch
from transformers import Wav2Vec2Config, Wav2Vec2Model

LENGTHS = (7, 1, 13, 5)
CHANNELS = 9
DRAW = "transformers.models.wav2vec2.modeling_wav2vec2._compute_mask_indices"


def make(save):
    config = Wav2Vec2Config(hidden_size=CHANNELS, num_hidden_layers=0, num_attention_heads=1, conv_dim=(4,), conv_kernel=(4,),
                            conv_stride=(2,), num_feat_extract_layers=1, num_conv_pos_embedding_groups=1,
                            mask_time_prob=0.5, mask_feature_prob=0.5)
    model = Wav2Vec2Model(config).train()
    frames = torch.rand(sum(LENGTHS)) < 0.4
    channels = torch.rand(len(LENGTHS), CHANNELS) < 0.3
    x = torch.randn(sum(LENGTHS), CHANNELS, requires_grad=True)
    masked = []
    for one, time, features in zip(x.split(LENGTHS), frames.split(LENGTHS), channels):
        # It takes masks of frames, and draws those of channels itself.
        with mock.patch(DRAW, lambda *_, **__: features[None].numpy()):
            masked.append(model._mask_hidden_states(one.clone()[None], mask_time_indices=time[None])[0])
    y = torch.cat(masked)
    dy = torch.randn_like(y)
    y.backward(dy)
    save("span_mask", dict(x=x, embedding=model.masked_spec_embed, frames=frames.float(), channels=channels.float(), y=y, dy=dy,
                           dx=x.grad, dembedding=model.masked_spec_embed.grad))
