"""Samples as the feature extractor of transformers' wav2vec 2.0 normalises them. Needs transformers."""
import torch
from transformers import Wav2Vec2FeatureExtractor


def make(save):
    t = torch.arange(2801).double()
    wave = (0.25 + 0.4 * torch.sin(2e-4 * t**2) + 0.02 * torch.randn(len(t))).float()
    x = Wav2Vec2FeatureExtractor(do_normalize=True)(wave.numpy(), sampling_rate=16000, return_tensors="pt").input_values[0]
    save("features_waveform", {"samples": wave, "x_FC": x[:, None]})
