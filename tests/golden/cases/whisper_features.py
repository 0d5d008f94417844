"""Features as transformers' WhisperFeatureExtractor makes them, without padding and padded to 30 s, and as
Qwen3ASRFeatureExtractor makes them of less than half a second. Needs transformers."""
import numpy as np
from transformers import Qwen3ASRFeatureExtractor, WhisperFeatureExtractor

from .features import sound


def features(wave, mels, padding):
    made = WhisperFeatureExtractor(feature_size=mels)(wave, sampling_rate=16000, padding=padding, return_tensors="np")
    return np.ascontiguousarray(made["input_features"][0].T)


def make(save):
    quiet = sound(1777) * np.float32(1e-4)
    quiet[700:] = 0  # below the least logarithm
    for name, wave, mels in [("whisper", sound(3201), 80), ("whisper_odd", sound(2803), 128), ("whisper_quiet", quiet, 80)]:
        save(f"features_{name}", {"samples": wave, "x_FC": features(wave, mels, False)})
    wave = sound(3201)
    padded = features(wave, 80, "max_length")
    assert padded.shape == (3000, 80) and np.ptp(padded[25:]) < 1e-6
    short = Qwen3ASRFeatureExtractor()(wave, sampling_rate=16000, padding=True)["input_features"][0].T[:50]
    save("features_qwen3_asr", {"samples": wave, "x_FC": short})  # without the zeros that fill a chunk
    save("features_whisper_30s", {"samples": wave, "x_FC": padded[:26]})
