#!/usr/bin/env python3
"""Small models through `penstock export --onnx`: ONNX Runtime computes the logits of `penstock transcribe --logits`, within
1e-4 of the largest. Each model is trained for three steps, so that no bias is 0, on noise. The sounds are of unequal lengths.

  onnx_logits.py PENSTOCK FOLDER [KIND...] [FILE.wav...]

KIND is one of KINDS below, all by default. FILE.wav, of 16 bits, is compared as well.
"""
import json
import random
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from safetensors.numpy import load_file

from onnx_sounds import run, samples_in, save_sound, write_sound

CONFORMER = ["model.kind=conformer", "model.width=12", "model.heads=3", "model.layers=2", "model.kernel=5", "model.channels=5"]
TRANSFORMER = ["model.kind=transformer", "model.channels=5", "model.width=12", "model.heads=3", "model.layers=2", "model.inner=20"]
SAMPLES = ["model.kind=wav2vec2", "features.kind=waveform", "model.features=1", "model.channels=8", "model.kernels=[10,3,3,2]",
           "model.strides=[5,2,2,2]", "model.width=12", "model.heads=3", "model.layers=2", "model.inner=20", "model.position_kernel=6",
           "model.position_groups=3"]
DEEPSPEECH = ["model.kind=deepspeech2", "model.channels=4", "model.hidden=10", "model.layers=2"]
MELS = ["features.kind=log-mel", "features.mels=24", "model.features=24"]
NEMO = ["features.kind=log-mel", "features.window_ms=25", "features.window=hann-symmetric", "features.fft=512",
        "features.preemphasis=0.97", "features.normalise=channel", "features.last_frame=false", "features.mels=24", "model.features=24"]
KALDI = ["features.kind=fbank", "features.window_ms=25", "features.window=povey", "features.preemphasis=0.97",
         "features.normalise=channel", "features.mels=24"]
WHISPER = ["model.kind=whisper", "model.width=12", "model.heads=3", "model.layers=2", "model.inner=20", "features.window_ms=25",
           "features.window=hann", "features.mels=24", "model.features=24"]
KINDS = {
    "wav2vec2": SAMPLES + ["model.mask_time_prob=0.3", "model.mask_feature_prob=0.3", "model.mask_feature_length=3"],
    "wav2vec2_base": SAMPLES + ["model.frontend_norm=group", "model.frontend_bias=false", "model.norm_first=false",
                                "model.projection_norm=false"],
    "wav2vec2_adapter": SAMPLES + ["model.adapter=5", "model.position_weight_norm=false", "model.position_kernel=7"],
    "deepspeech2_gru": DEEPSPEECH,
    "deepspeech2_lstm": DEEPSPEECH + ["model.rnn=lstm", "model.bidirectional=false", "model.lookahead=4"] + MELS,
    "deepspeech2_tanh": DEEPSPEECH + ["model.rnn=tanh", "features.fft=401", "model.features=201", "features.window=hann"],
    "conformer": CONFORMER + MELS,
    "conformer_ctc": CONFORMER + ["model.intermediate_ctc=[1]"] + MELS,
    "conformer_conditioned": CONFORMER + ["model.intermediate_ctc=[1]", "model.self_conditioned_ctc=true"] + MELS,
    "conformer_averages": CONFORMER + ["trainer.ema=0.5"] + MELS,
    "conformer_adapters": CONFORMER + ["lora.rank=2", 'lora.targets=["*"]'] + MELS,
    "fastconformer": CONFORMER + ["model.subsampling=8", "model.scale_input=true", "model.attention_bias=false"] + NEMO,
    "conformer_context": CONFORMER + ["model.left_context=3", "model.right_context=1"] + NEMO,
    "conformer_absolute": CONFORMER + ["model.positions=absolute", "model.width=15", "model.scale_input=true"] + MELS,
    "w2v_bert": CONFORMER + ["model.causal_convolution=true", "model.convolution_norm=layer", "model.subsampling=1",
                             "model.positions=shaw", "model.left_positions=4", "model.right_positions=2",
                             "model.convolution_bias=false", "features.stack=2", "model.features=48"] + KALDI,
    "transformer": TRANSFORMER + ["model.positions=rotary", "model.activation=swiglu", "model.norm=rms"] + KALDI + ["model.features=24"],
    "transformer_relative": TRANSFORMER + ["model.positions=relative", "model.activation=gelu_tanh"] + MELS,
    "transformer_absolute": TRANSFORMER + ["model.positions=absolute", "model.activation=silu"] + MELS,
    "wav2letter": ["model.kind=wav2letter", "model.channels=[8,9]", "model.kernels=[5,1]", "model.repeats=[2,1]", "model.strides=[2,1]",
                   "model.dilations=[1,2]", "model.dropouts=[0.1,0]", "features.stack=3", "features.mels=24", "features.kind=log-mel",
                   "model.features=72"],
    "whisper": WHISPER + ["features.kind=whisper"],
    "whisper_stored": WHISPER + ["features.kind=whisper-30s", "model.stored_positions=true"],
}


def train(penstock, folder, keys, rng):
    """Returns the folder of a model of three steps."""
    files = [save_sound(folder / f"train-{i}.wav", 24000 + 4000 * i, rng) for i in range(3)]
    (folder / "train.jsonl").write_text("".join(
        json.dumps({"audio_filepath": file.name, "duration": len(samples_in(file)) / 16000, "text": "ab ca"}) + "\n" for file in files))
    run(penstock, "train", *keys, "text.alphabet= abc", f"data.train={folder / 'train.jsonl'}", "data.validation=",
        "data.micro_batches=1", f"trainer.output={folder / 'trained'}", "trainer.steps=3", "optimizer.learning_rate=0.03",
        "lr_schedule.warmup=1", "optimizer.kind=adamw")
    return folder / "trained"


def compare(penstock, checkpoint, exported, files):
    """Returns the largest difference of logits, as a share of the largest logit."""
    model = exported / "model.onnx"
    onnx.checker.check_model(str(model), full_check=True)
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    run(penstock, "transcribe", checkpoint, *files, "--logits", exported / "logits.safetensors")
    ours, largest = load_file(exported / "logits.safetensors"), 0
    for i, file in enumerate(files):
        expected = ours[f"{i:05}"]
        found = session.run(None, {"x": samples_in(file)[None]})[0]
        assert found.shape == (1, *expected.shape), (file, found.shape, expected.shape)
        largest = max(largest, float(np.abs(found[0] - expected).max() / np.abs(expected).max()))
    lines = (exported / "tokens.txt").read_text().splitlines()
    assert lines == ["<blk> 0", "▁ 1", "a 2", "b 3", "c 4"], lines
    return largest


def export_and_compare(penstock, folder, kind, recordings):
    rng, here = random.Random(kind), folder / kind
    here.mkdir()
    checkpoint = train(penstock, here, KINDS[kind], rng)
    files = [save_sound(here / f"sound-{n}.wav", n, rng) for n in (1601, 3203, 7999, 16000, 41237)] + recordings
    for name, options in {"one": [], "two": ["--file-gb", "1e-6"]}.items():
        run(penstock, "export", "--onnx", checkpoint, "-o", here / name, *options)
        assert (here / name / "model.onnx.data").exists() == (name == "two")
        largest = compare(penstock, checkpoint, here / name, files)
        assert largest <= 1e-4, f"logits of {kind} are off by {largest}"
    print(f"{kind}: within {largest:.1e}")


def compare_level(penstock, folder, kind):
    """With --rms, a recording that is louder and shifted has the logits of the model for one of that root mean square."""
    checkpoint, file = folder / kind / "trained", folder / kind / "even.wav"
    rng = random.Random(kind)
    noise = [rng.randint(-9000, 9000) for _ in range(8001)]
    write_sound(file, noise + [-number for number in noise])  # its mean is 0
    samples = samples_in(file)
    run(penstock, "export", "--onnx", checkpoint, "-o", folder / kind / "level", "--rms", float(np.sqrt(np.mean(samples.astype(float) ** 2))))
    run(penstock, "transcribe", checkpoint, file, "--logits", folder / kind / "level.safetensors")
    expected = load_file(folder / kind / "level.safetensors")["00000"]
    session = onnxruntime.InferenceSession(str(folder / kind / "level" / "model.onnx"), providers=["CPUExecutionProvider"])
    for heard in (samples, 3 * samples + np.float32(0.25)):
        found = session.run(None, {"x": heard[None]})[0][0]
        distance = float(np.abs(found - expected).max() / np.abs(expected).max())
        assert distance <= 1e-4, f"logits of {kind} with --rms are off by {distance}"


def refuse_more_frames(folder, kind):
    """A recording with more frames than model.max_frames fails, as in penstock: 31 seconds have 1,550 frames, and positions end at
    1,500."""
    session = onnxruntime.InferenceSession(str(folder / kind / "one" / "model.onnx"), providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(1)
    for seconds, fits in ((30, True), (31, False)):
        samples = rng.uniform(-0.3, 0.3, (1, 16000 * seconds)).astype(np.float32)
        try:
            frames = session.run(None, {"x": samples})[0].shape[1]
        except Exception as error:
            assert not fits and "Reshape" in str(error), f"{kind}, {seconds} s: {error}"
        else:
            assert fits and frames == 1500, f"{kind}, {seconds} s: {frames} frames"


if __name__ == "__main__":
    penstock, output, *words = sys.argv[1:]
    recordings = [Path(word) for word in words if word.endswith(".wav")]
    for name in [word for word in words if word in KINDS] or KINDS:
        export_and_compare(penstock, Path(output), name, recordings)
        if name == "deepspeech2_gru":  # its features are those of loud and quiet recordings
            compare_level(penstock, Path(output), name)
        if name.startswith("whisper"):
            refuse_more_frames(Path(output), name)
