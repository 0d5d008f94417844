#!/usr/bin/env python3
"""Random small models of transformers through `penstock import` and `penstock export`: equal to the byte, and loaded
again without a warning. Between them, logits of `penstock transcribe` for sounds of unequal lengths: those of transformers.

  round_trip.py PENSTOCK KIND FOLDER [SEED...]

KIND is wav2vec2 (norms of large models, and a tokenizer of as many tokens as the head has rows), wav2vec2_base or hubert
(norms by chance, the defaults of transformers among them, with its default processor), or parakeet.
"""
import json
import random
import struct
import subprocess
import sys
import wave
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers
from transformers import (
    AutoFeatureExtractor, HubertConfig, HubertForCTC, ParakeetCTCConfig, ParakeetEncoderConfig, ParakeetFeatureExtractor, ParakeetForCTC,
    ParakeetTokenizer, Wav2Vec2Config, Wav2Vec2CTCTokenizer, Wav2Vec2FeatureExtractor, Wav2Vec2ForCTC, Wav2Vec2Processor)


def sizes_on_raw_audio(rng, labels, blank):
    """What Wav2Vec2Config and HubertConfig both take."""
    heads, groups, convolutions = rng.randint(1, 4), rng.choice([1, 2]), rng.randint(2, 4)
    return dict(
        vocab_size=labels, hidden_size=heads * groups * 2 * rng.randint(1, 4), num_hidden_layers=rng.randint(1, 3),
        num_attention_heads=heads, intermediate_size=rng.randint(3, 40), conv_dim=[rng.randint(3, 9)] * convolutions,
        conv_kernel=[rng.randint(2, 6) for _ in range(convolutions)],
        conv_stride=[rng.randint(1, 3) for _ in range(convolutions)], num_conv_pos_embeddings=rng.randint(3, 9),
        num_conv_pos_embedding_groups=groups, pad_token_id=blank, mask_time_prob=rng.choice([0.0, 0.05]))


def norms_on_raw_audio(rng):
    """The defaults, those of large models, or any others."""
    large = dict(feat_extract_norm="layer", conv_bias=True, do_stable_layer_norm=True)
    mixed = dict(feat_extract_norm=rng.choice(["group", "layer"]), conv_bias=rng.choice([True, False]),
                 do_stable_layer_norm=rng.choice([True, False]))
    return rng.choice([{}, large, mixed])


def save_default_processor(folder, letters):
    """Returns the tokens that its tokenizer knows: <s> and </s> as well."""
    tokens = ["<pad>", "<unk>", "|"] + [chr(0x3b1 + i) for i in range(letters)]
    (folder / "vocab.json").write_text(json.dumps({t: i for i, t in enumerate(tokens)}))
    tokenizer = Wav2Vec2CTCTokenizer(folder / "vocab.json")
    Wav2Vec2Processor(Wav2Vec2FeatureExtractor(), tokenizer).save_pretrained(folder)
    return len(tokenizer)


def save_wav2vec2_base(folder, rng):
    labels = save_default_processor(folder, rng.randint(3, 20))
    return Wav2Vec2ForCTC(Wav2Vec2Config(**sizes_on_raw_audio(rng, labels, 0), **norms_on_raw_audio(rng)))


def save_hubert(folder, rng):
    labels = save_default_processor(folder, rng.randint(3, 20))
    return HubertForCTC(HubertConfig(**sizes_on_raw_audio(rng, labels, 0), **norms_on_raw_audio(rng),
                                     feat_proj_layer_norm=rng.choice([True, False])))


def save_wav2vec2(folder, rng):
    labels = rng.randint(5, 40)
    blank = rng.randrange(labels)
    model = Wav2Vec2ForCTC(Wav2Vec2Config(**sizes_on_raw_audio(rng, labels, blank), feat_extract_norm="layer",
                                          conv_bias=True, do_stable_layer_norm=True))
    tokens = ["|", "<unk>"] + [chr(0x3b1 + i) for i in range(labels - 3)]
    rng.shuffle(tokens)
    tokens.insert(blank, "<pad>")
    (folder / "vocab.json").write_text(json.dumps({t: i for i, t in enumerate(tokens)}))
    Wav2Vec2CTCTokenizer(folder / "vocab.json", bos_token=None, eos_token=None).save_pretrained(folder)
    Wav2Vec2FeatureExtractor(return_attention_mask=True).save_pretrained(folder)
    return model


def save_parakeet(folder, rng):
    labels, heads = rng.randint(5, 40), rng.randint(1, 4)
    mels = 8 * rng.randint(1, 6)
    model = ParakeetForCTC(ParakeetCTCConfig(vocab_size=labels, pad_token_id=labels - 1, encoder_config=ParakeetEncoderConfig(
        hidden_size=heads * 2 * rng.randint(1, 5), num_hidden_layers=rng.randint(1, 3), num_attention_heads=heads,
        intermediate_size=rng.randint(3, 40), conv_kernel_size=2 * rng.randint(1, 5) + 1,
        subsampling_conv_channels=rng.randint(2, 9), num_mel_bins=mels, scale_input=rng.choice([True, False]),
        attention_bias=rng.choice([True, False]), convolution_bias=rng.choice([True, False]))))
    pieces = ["<unk>", "▁"] + [chr(0x3b1 + i) for i in range(labels - 3)]
    tokenizer = Tokenizer(models.BPE({p: i for i, p in enumerate(pieces)}, [], unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.decoder = decoders.Replace("▁", " ")
    tokenizer.add_special_tokens([AddedToken("<pad>", normalized=False, special=True)])
    ParakeetTokenizer(tokenizer_object=tokenizer, pad_token="<pad>").save_pretrained(folder)
    ParakeetFeatureExtractor(feature_size=mels).save_pretrained(folder)
    return model


SAVERS = {"wav2vec2": save_wav2vec2, "wav2vec2_base": save_wav2vec2_base, "hubert": save_hubert, "parakeet": save_parakeet}


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def save_sound(file, samples, rng):
    """White noise, 16 bits, 16 kHz. Returns what transformers' feature extractors take."""
    numbers = [rng.randint(-9000, 9000) for _ in range(samples)]
    with wave.open(str(file), "wb") as sound:
        sound.setparams((1, 2, 16000, samples, "NONE", ""))
        sound.writeframes(struct.pack(f"<{samples}h", *numbers))
    return np.array(numbers, np.float32) / 32768


def compare_logits(penstock, checkpoint, model, folder, rng):
    files = [folder / f"{i}.wav" for i in range(3)]
    sounds = [save_sound(file, rng.randint(4000, 20000), rng) for file in files]
    run(penstock, "transcribe", checkpoint, *files, "--logits", folder / "logits.safetensors")
    blank = model.config.pad_token_id
    rows = [blank] + [row for row in range(model.config.vocab_size) if row != blank]  # as penstock has them
    extractor = AutoFeatureExtractor.from_pretrained(folder)
    logits = load_file(folder / "logits.safetensors")
    assert len(logits) == len(sounds), logits.keys()
    for i, (_, ours) in enumerate(sorted(logits.items())):
        with torch.no_grad():
            theirs = model.eval()(**extractor(sounds[i], sampling_rate=16000, return_tensors="pt")).logits[0][:, rows]
        assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
        distance = ((ours - theirs).abs().max() / theirs.abs().max()).item()
        assert distance <= 1e-4, f"logits of sound {i} are off by {distance}"


def round_trip(penstock, kind, output, seed):
    rng = random.Random(seed)
    torch.manual_seed(seed)
    folder, checkpoint, exported = (output / f"{kind}-{seed}{part}" for part in ("", "-checkpoint", "-exported"))
    folder.mkdir()
    model = SAVERS[kind](folder, rng)
    for tensor in model.state_dict().values():
        if tensor.is_floating_point():
            tensor.add_(torch.rand_like(tensor))
    model.save_pretrained(folder, max_shard_size=rng.choice(["3KB", "1GB"]))
    run(penstock, "import", folder, "-o", checkpoint)
    compare_logits(penstock, checkpoint, model, folder, rng)
    run(penstock, "export", checkpoint, "-o", exported)
    loaded, info = type(model).from_pretrained(exported, output_loading_info=True)
    assert not any(info.values()), info
    expected, found = model.state_dict(), loaded.state_dict()
    assert expected.keys() == found.keys()
    for name, tensor in expected.items():
        assert torch.equal(tensor, found[name]), name
    settings = [json.loads((where / "config.json").read_text()) for where in (folder, exported)]
    assert settings[0] == settings[1], settings


if __name__ == "__main__":
    penstock, kind, output, *seeds = sys.argv[1:]
    for seed in seeds or range(4):
        round_trip(penstock, kind, Path(output), int(seed))
        print(f"{kind} {seed}: equal")
