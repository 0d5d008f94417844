"""Manifests, features, labels, batches and error rates as penstock has them, for the peers beside this file."""
import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import soundfile
import torch
import torchaudio


@dataclass(frozen=True)
class Utterance:
    file: Path
    text: str
    seconds: float


def read_manifest(path):
    lines = [json.loads(line) for line in Path(path).read_text().splitlines()]
    return [Utterance(Path(path).parent / x["audio_filepath"], x["text"], x["duration"]) for x in lines]


class Labels:
    """Characters of text.alphabet, or SentencePiece's pieces; 0 is the blank."""

    def __init__(self, keys, pieces):
        self.pieces, self.alphabet = None, keys.get("alphabet", "'abcdefghijklmnopqrstuvwxyz ")
        if keys.get("kind") == "sentencepiece":
            from sentencepiece import SentencePieceProcessor
            self.pieces = SentencePieceProcessor(model_file=pieces or keys["model"])
        self.classes = 1 + (self.pieces.get_piece_size() if self.pieces else len(self.alphabet))

    def of(self, text):
        text = " ".join(text.lower().split())
        found = self.pieces.encode(text) if self.pieces else [self.alphabet.index(c) for c in text]
        return torch.tensor(found) + 1

    def text(self, labels):
        found = [i - 1 for i in labels if i > 0]
        return self.pieces.decode(found) if self.pieces else "".join(self.alphabet[i] for i in found)

    def decode(self, best):
        """The text of each frame's best label, of which runs are one."""
        return " ".join(self.text(best).split())


class Features:
    """[features] of a recipe: samples, or log-mel energies as runtime/data/audio/features.cpp makes them."""

    def __init__(self, keys):
        self.rate, self.keys, self.kept = keys.get("sample_rate", 16000), keys, {}
        if keys["kind"] == "waveform":
            return
        assert keys["kind"] == "log-mel" and keys.get("normalise") == "channel", "this peer knows no such features"
        size = round(keys.get("window_ms", 20) * self.rate / 1000)
        make = {"hann": lambda: torch.hann_window(size), "hann-symmetric": lambda: torch.hann_window(size, periodic=False)}
        self.window, self.fft = make[keys["window"]](), keys.get("fft") or size
        self.mel = torchaudio.functional.melscale_fbanks(
            self.fft // 2 + 1, 0, self.rate / 2, keys.get("mels", 80), self.rate, norm="slaney", mel_scale="slaney")

    def samples(self, utterance, speed):
        if (utterance, speed) not in self.kept:
            x, rate = soundfile.read(utterance.file, dtype="float32", always_2d=True)
            ratio = Fraction(speed).limit_denominator(100) * rate / self.rate
            self.kept[utterance, speed] = torchaudio.functional.resample(
                torch.from_numpy(x.mean(1)), ratio.numerator, ratio.denominator)
        return self.kept[utterance, speed]

    def __call__(self, utterance, speed):
        """Samples of zero mean and unit variance, or frames x channels."""
        x = self.samples(utterance, speed)
        if self.keys["kind"] == "waveform":
            return (x - x.mean()) / torch.sqrt(x.var(correction=0) + 1e-7)
        share, hop = self.keys.get("preemphasis", 0), round(self.keys.get("hop_ms", 10) * self.rate / 1000)
        x = torch.cat([x[:1], x[1:] - share * x[:-1]])
        power = torch.stft(x, self.fft, hop, self.window.numel(), self.window, pad_mode="constant", return_complex=True).abs() ** 2
        if not self.keys.get("last_frame", True):
            power = power[:, :max(len(x) // hop, 1)]
        x_FC = torch.log(power.T @ self.mel + 2.0 ** -24)
        return (x_FC - x_FC.mean(0)) / (x_FC.std(0) + 1e-5)


def batches(corpus, seconds, speeds, rng):
    """Micro-batches of (utterance, speed) with at most so many seconds. `rng` samples speeds, lets lengths differ by an
    eighth, and shuffles; None leaves the order of lengths."""
    drawn = [(u, rng.choice(speeds) if rng else speeds[0]) for u in corpus]
    drawn.sort(key=lambda x: x[0].seconds / x[1] * (1 + rng.random() / 8 if rng else 1))
    found, filled = [], seconds
    for utterance, speed in drawn:
        filled += utterance.seconds / speed
        if filled > seconds:
            found.append([])
            filled = utterance.seconds / speed
        found[-1].append((utterance, speed))
    if rng:
        rng.shuffle(found)
    return found


def edits(a, b):
    """Levenshtein's distance."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]
