"""Features as transformers' SeamlessM4TFeatureExtractor makes them, and as torchaudio's kaldi.fbank. Needs both."""
import numpy as np
import torch
import torchaudio
from transformers import SeamlessM4TFeatureExtractor

from .features import sound


def make(save):
    extractor = SeamlessM4TFeatureExtractor()
    for name, samples in {"seamless": 3200, "seamless_odd": 3201 + 160, "seamless_short": 560}.items():
        wave = sound(samples)
        made = extractor(wave, sampling_rate=16000, return_tensors="np")
        frames = int(made["attention_mask"].sum())
        save(f"features_{name}", {"samples": wave, "x_FC": np.ascontiguousarray(made["input_features"][0, :frames])})
    wave = sound(2001)
    x = torchaudio.compliance.kaldi.fbank(2**15 * torch.tensor(wave)[None].double(), num_mel_bins=23, sample_frequency=8000)
    save("features_kaldi_8k", {"samples": wave, "x_FC": ((x - x.mean()) / x.std()).float()})
