#!/usr/bin/env python3
"""Models that were trained to know two texts by heart, through `penstock export --onnx` and sherpa-onnx: the texts of `penstock
transcribe`. One hears samples, and one mel channels; the latter also has weights of 8 bits.

  sherpa_texts.py PENSTOCK FOLDER
"""
import json
import random
import sys
from pathlib import Path

import sherpa_onnx

from onnx_sounds import run, samples_in, save_sound

TEXTS = ["bad cab", "ace"]
MODELS = {
    "samples": ["model.kind=wav2vec2", "features.kind=waveform", "model.features=1", "model.channels=24", "model.kernels=[20,5,4,3]",
                "model.strides=[10,4,4,2]", "model.width=24", "model.heads=2", "model.layers=1", "model.inner=48",
                "model.position_kernel=8", "model.position_groups=2"],
    "mels": ["model.kind=conformer", "model.width=24", "model.heads=2", "model.layers=1", "model.kernel=5", "model.channels=8",
             "features.kind=log-mel", "features.mels=24", "model.features=24", "features.normalise=channel"],
}


def texts_of_sherpa(model, tokens, files):
    recogniser = sherpa_onnx.OfflineRecognizer.from_omnilingual_asr_ctc(model=str(model), tokens=str(tokens), num_threads=1)
    texts = []
    for file in files:
        stream = recogniser.create_stream()
        stream.accept_waveform(16000, samples_in(file))
        recogniser.decode_stream(stream)
        texts.append(stream.result.text.strip())
    return texts


def compare(penstock, folder, keys, rng):
    files = [save_sound(folder / f"{i}.wav", 15001 + 4000 * i, rng) for i in range(len(TEXTS))]
    (folder / "train.jsonl").write_text("".join(
        json.dumps({"audio_filepath": file.name, "duration": len(samples_in(file)) / 16000, "text": text}) + "\n"
        for file, text in zip(files, TEXTS)))
    run(penstock, "train", *keys, "text.alphabet= abcde", f"data.train={folder / 'train.jsonl'}", "data.validation=",
        "data.micro_batches=1", f"trainer.output={folder / 'trained'}", "trainer.steps=150", "optimizer.kind=adamw",
        "optimizer.learning_rate=0.005", "lr_schedule.warmup=5")
    ours = [line.split("\t")[1] for line in run(penstock, "transcribe", folder / "trained", *files).splitlines()]
    assert ours == TEXTS, ours
    for options in ([], ["--int8"]):
        exported = folder / f"served{len(options)}"
        run(penstock, "export", "--onnx", folder / "trained", "-o", exported, *options)
        theirs = texts_of_sherpa(next(exported.glob("*.onnx")), exported / "tokens.txt", files)
        assert theirs == ours, (options, theirs, ours)


if __name__ == "__main__":
    penstock, output = sys.argv[1:]
    for name, keys in MODELS.items():
        here = Path(output) / name
        here.mkdir()
        compare(penstock, here, keys, random.Random(name))
        print(f"{name}: equal")
