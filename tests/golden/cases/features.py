"""Spectrograms and log-mel features by librosa, normalised as deepspeech.pytorch does. Needs librosa."""
import numpy as np

CASES = {
    "spectrogram_16k": dict(kind="spectrogram", rate=16000, window=320, hop=160, fft=320, name="hamming"),
    "spectrogram_8k_hann": dict(kind="spectrogram", rate=8000, window=160, hop=80, fft=256, name="hann"),
    "spectrogram_odd": dict(kind="spectrogram", rate=11025, window=221, hop=110, fft=221, name="hamming"),
    "log_mel_16k": dict(kind="log-mel", rate=16000, window=400, hop=160, fft=512, name="hann", mels=80),
    "log_mel_8k": dict(kind="log-mel", rate=8000, window=160, hop=80, fft=160, name="hamming", mels=23),
}


def sound(samples):
    """Chirps under noise, with silence at the start and a level that changes."""
    rng = np.random.default_rng(7)
    t = np.arange(samples)
    wave = 0.4 * np.sin(2e-4 * t**2) + 0.1 * np.sin(0.31 * t) + 0.02 * rng.standard_normal(samples)
    wave *= 0.5 + 0.5 * np.sin(3e-3 * t)
    wave[:200] = 0
    return wave.astype(np.float32)


def features(wave, kind, rate, window, hop, fft, name, mels=None):
    import librosa  # here, so that sound() does not need it

    spectrum = np.abs(librosa.stft(wave, n_fft=fft, hop_length=hop, win_length=window, window=name))
    if kind == "spectrogram":
        x = np.log1p(spectrum)
    else:
        x = np.log(librosa.filters.mel(sr=rate, n_fft=fft, n_mels=mels, dtype=np.float64) @ spectrum**2 + 2.0**-24)
    return ((x - x.mean()) / x.std(ddof=1)).T.astype(np.float32)


def make(save):
    for name, case in CASES.items():
        wave = sound(2801)
        save(f"features_{name}", {"samples": wave, "x_FC": np.ascontiguousarray(features(wave.astype(np.float64), **case))})
