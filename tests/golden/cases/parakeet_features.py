"""Features as transformers' ParakeetFeatureExtractor makes them. Needs transformers."""
import numpy as np
from transformers import ParakeetFeatureExtractor

from .features import sound


def make(save):
    extractor = ParakeetFeatureExtractor()
    for name, samples in {"parakeet": 3201, "parakeet_short": 457}.items():
        wave = sound(samples)
        made = extractor(wave, sampling_rate=16000, return_tensors="np")
        frames = int(made["attention_mask"].sum())
        save(f"features_{name}", {"samples": wave, "x_FC": np.ascontiguousarray(made["input_features"][0, :frames])})
