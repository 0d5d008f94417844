#!/usr/bin/env python3
"""Random small Parakeets whose tokenizers are pieces: `penstock transcribe` writes what transformers does of the same
labels, and what `penstock export` makes of a checkpoint that was trained is a tokenizer with the same tokens and texts.

  piece_round_trip.py PENSTOCK TOKENIZERS FOLDER

TOKENIZERS holds tokenizer.json files, each under a name of its own.
"""
import json
import math
import random
import subprocess
import sys
import wave
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import (
    AutoProcessor, AutoTokenizer, ParakeetCTCConfig, ParakeetEncoderConfig, ParakeetFeatureExtractor, ParakeetForCTC,
    ParakeetTokenizer)

RATE = 16000


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write_sound(path, seed):
    noise = np.random.default_rng(seed)
    times = np.arange(2 * RATE) / RATE
    sound = np.sin(2 * math.pi * (200 + 300 * seed) * times * times) + noise.normal(0, 0.3, len(times))
    with wave.open(str(path), "wb") as out:
        out.setparams((1, 2, RATE, len(times), "NONE", ""))
        out.writeframes((sound * 9000).astype("<i2").tobytes())


def save_model(folder, tokenizer):
    blank = next(token.content for token in tokenizer.get_added_tokens_decoder().values() if token.content in ("<pad>", "<blank>"))
    model = ParakeetForCTC(ParakeetCTCConfig(
        vocab_size=tokenizer.get_vocab_size(), pad_token_id=tokenizer.token_to_id(blank),
        encoder_config=ParakeetEncoderConfig(
            hidden_size=24, num_hidden_layers=1, num_attention_heads=2, intermediate_size=30, conv_kernel_size=5,
            subsampling_conv_channels=4, num_mel_bins=16))).eval()
    with torch.no_grad():
        model.ctc_head.weight.mul_(50)
        for token, row in tokenizer.get_vocab().items():
            if token.startswith("<0x"):  # bytes that make no character are shown otherwise
                model.ctc_head.bias[row] = -1e4
    model.save_pretrained(folder)
    ParakeetTokenizer(tokenizer_object=tokenizer, pad_token=blank, unk_token="<unk>").save_pretrained(folder)
    ParakeetFeatureExtractor(feature_size=16).save_pretrained(folder)
    return tokenizer.token_to_id(blank)


def best_tokens(logits, blank):
    """Of penstock's labels, whose blank is label 0."""
    return [blank if label == 0 else label - 1 if label <= blank else label for label in logits.argmax(-1).tolist()]


def transcribed(penstock, output, name, checkpoint, blank):
    """Texts of penstock, and the tokens of which they are."""
    sounds = [output / f"{seed}.wav" for seed in (1, 2, 3)]
    for seed, sound in enumerate(sounds):
        write_sound(sound, seed + 1)
    logits = output / f"{name}.safetensors"
    lines = run(penstock, "transcribe", checkpoint, *sounds, "--logits", logits).splitlines()
    return [line.split("\t", 1)[1] for line in lines], [best_tokens(t, blank) for _, t in sorted(load_file(logits).items())]


def train(penstock, output, name, checkpoint, texts):
    """One step, with a learning rate of next to nothing, so that the tokenizer alone is looked at."""
    manifest = output / f"{name}.jsonl"
    manifest.write_text("".join(json.dumps({"audio_filepath": str(output / f"{1 + i % 3}.wav"), "text": text}) + "\n"
                                for i, text in enumerate(texts)), encoding="utf-8")
    trained = output / f"{name}-trained"
    run(penstock, "train", output / "recipe.toml", f"data.train={manifest}", f"trainer.init={checkpoint}",
        f"text.model={checkpoint}/tokenizer.model", f"trainer.output={trained}")
    return trained


RECIPE = """
[model]
kind = "conformer"
subsampling = 8
features = 16
width = 24
heads = 2
layers = 1
inner = 30
kernel = 5
channels = 4
output_dropout = false
[features]
kind = "log-mel"
mels = 16
fft = 512
window_ms = 25.0
hop_ms = 10.0
window = "hann-symmetric"
preemphasis = 0.97
normalise = "channel"
last_frame = false
[text]
kind = "sentencepiece"
fold = "none"
[data]
micro_batches = 1
[trainer]
steps = 1
"""


def check(penstock, file, output):
    name = file.stem
    tokenizer = Tokenizer.from_file(str(file))
    folder, checkpoint, exported, again = (output / f"{name}{part}" for part in ("", "-checkpoint", "-exported", "-again"))
    torch.manual_seed(7)
    blank = save_model(folder, tokenizer)
    report = json.loads(run(penstock, "import", folder, "-o", checkpoint, "--json"))
    assert report["no_pieces"] == "" and report["without_letter"] == [], report

    theirs = AutoTokenizer.from_pretrained(folder)
    for text, tokens in zip(*transcribed(penstock, output, name, checkpoint, blank)):
        expected = theirs.decode(tokens, skip_special_tokens=True)
        assert text == expected, (name, text, expected)

    corpus = ["the cat sat on the mat", "she sells sea shells"]
    trained = train(penstock, output, name, checkpoint, corpus)
    run(penstock, "export", trained, "-o", again)  # the imported tokenizer, handed on
    assert (again / "tokenizer.json").read_bytes() == (folder / "tokenizer.json").read_bytes()

    # A tokenizer.json made of the pieces alone.
    fresh = output / f"{name}-fresh"
    run(penstock, "train", output / "recipe.toml", f"data.train={output / (name + '.jsonl')}",
        f"text.model={checkpoint}/tokenizer.model", f"trainer.output={fresh}")
    run(penstock, "export", fresh, "-o", exported)
    made, processor = AutoTokenizer.from_pretrained(exported), AutoProcessor.from_pretrained(exported)
    assert type(processor).__name__ == "ParakeetProcessor" and len(made) == len(theirs)
    model = ParakeetForCTC.from_pretrained(exported)
    last = model.config.pad_token_id
    assert last == made.pad_token_id == len(made) - 1
    rng = random.Random(5)
    to_theirs = [token if token < blank else token + 1 for token in range(last)] + [blank]
    for _ in range(200):
        tokens = [rng.randrange(len(made)) for _ in range(rng.randint(1, 15))]
        # A piece of a word that is left out by transformers alone would be told apart, so special ones go.
        tokens = [t for t in tokens if made.convert_ids_to_tokens(t)[:3] != "<0x"]
        mine = made.decode(tokens, skip_special_tokens=True)
        assert mine == theirs.decode([to_theirs[t] for t in tokens], skip_special_tokens=True), (name, tokens, mine)
        assert processor.decode(tokens, skip_special_tokens=True) == mine
    for text in corpus + ["the dog's other brother", "a mother sees mississippi bananas"]:
        mine = [to_theirs[t] for t in made(text, add_special_tokens=False).input_ids]
        assert mine == theirs(text, add_special_tokens=False).input_ids, (name, text)
    run(penstock, "import", exported, "-o", output / f"{name}-back")
    print(f"{name}: equal")


if __name__ == "__main__":
    penstock, tokenizers, output = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    (output / "recipe.toml").write_text(RECIPE)
    for file in sorted(tokenizers.glob("*.json")):
        check(penstock, file, output)
