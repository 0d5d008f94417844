"""Features as transformers' SeamlessM4TFeatureExtractor makes them, and as torchaudio's kaldi.fbank. Needs both."""
import numpy as np
import torch
import torchaudio
from transformers import SeamlessM4TFeatureExtractor

from .features import sound


def hum(samples):
    """A loud hum over noise 110 dB below it, which FP32 drowns in the rounding of the Fourier transform."""
    t = np.arange(samples)
    loud = 0.7 * (0.6 + 0.4 * np.sin(3e-3 * t)) * np.sin(2 * np.pi * 150 * t / 16000)
    return (loud + 1e-6 * np.random.default_rng(5).standard_normal(samples)).astype(np.float32)


def make(save):
    extractor = SeamlessM4TFeatureExtractor()
    waves = {"seamless": sound(3200), "seamless_odd": sound(3201 + 160), "seamless_short": sound(560), "seamless_hum": hum(1697)}
    for name, wave in waves.items():
        made = extractor(wave, sampling_rate=16000, return_tensors="np")
        frames = int(made["attention_mask"].sum())
        save(f"features_{name}", {"samples": wave, "x_FC": np.ascontiguousarray(made["input_features"][0, :frames])})
    wave = sound(2001)
    x = torchaudio.compliance.kaldi.fbank(2**15 * torch.tensor(wave)[None].double(), num_mel_bins=23, sample_frequency=8000)
    save("features_kaldi_8k", {"samples": wave, "x_FC": ((x - x.mean()) / x.std()).float()})
