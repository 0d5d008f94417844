#!/usr/bin/env python3
"""Writes imported_transcripts/: tiny models as transformers saves them, sounds, and what they make of them, from audio
to transcript (pip install torch transformers==5.23.0 tokenizers==0.23.3).

The models have random weights; each frame's best label is well ahead of the next. A Parakeet has the pieces of
piece_tokenizers/converted-bpe.json, which piece_tokenizers.py writes.
"""
import json
import math
import shutil
import wave
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import (
    ParakeetCTCConfig, ParakeetEncoderConfig, ParakeetFeatureExtractor, ParakeetForCTC, ParakeetProcessor,
    ParakeetTokenizer, Wav2Vec2Config, Wav2Vec2CTCTokenizer, Wav2Vec2FeatureExtractor, Wav2Vec2ForCTC,
    Wav2Vec2Processor)

FOLDER = Path(__file__).with_suffix("")
RATE = 16000
SOUNDS = (1, 2, 3)


def sound(seed):
    times = np.arange(RATE * (3 + seed) // 4) / RATE
    noise = np.random.default_rng(seed).normal(0, 0.2, len(times))
    return ((np.sin(2 * math.pi * (150 + 400 * seed) * times * (1 + times)) + noise) * 8000).astype("<i2")


def parakeet(folder):
    tokenizer = Tokenizer.from_file(str(FOLDER.parent / "piece_tokenizers" / "converted-bpe.json"))
    labels = tokenizer.get_vocab_size()
    model = ParakeetForCTC(ParakeetCTCConfig(vocab_size=labels, pad_token_id=labels - 1, encoder_config=ParakeetEncoderConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=20, conv_kernel_size=5,
        subsampling_conv_channels=4, num_mel_bins=16)))
    processor = ParakeetProcessor(
        ParakeetFeatureExtractor(feature_size=16),
        ParakeetTokenizer(tokenizer_object=tokenizer, pad_token="<pad>", unk_token="<unk>"))
    return model, processor, model.ctc_head, []


def wav2vec2(folder):
    tokens = ["|", "<unk>", "E", "<pad>", "A", "O", "T", "N", "É", "S", "'", "H"]
    folder.mkdir(parents=True)
    (folder / "vocab.json").write_text(json.dumps({t: i for i, t in enumerate(tokens)}))
    model = Wav2Vec2ForCTC(Wav2Vec2Config(
        vocab_size=len(tokens), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=20,
        conv_dim=[8] * 7, feat_extract_norm="layer", conv_bias=True, do_stable_layer_norm=True, num_conv_pos_embeddings=8,
        num_conv_pos_embedding_groups=2, pad_token_id=3))
    processor = Wav2Vec2Processor(
        Wav2Vec2FeatureExtractor(return_attention_mask=True),
        Wav2Vec2CTCTokenizer(folder / "vocab.json", bos_token=None, eos_token=None))
    return model, processor, model.lm_head, [1]


def scrambled(model, head, generator):
    for tensor in model.state_dict().values():
        if tensor.is_floating_point():
            tensor.add_(torch.randn(tensor.shape, generator=generator) * 0.2)
    head.weight.data *= 20
    return model.eval()


def logits_of(model, processor, seed):
    audio = torch.tensor(sound(seed) / 32768.0, dtype=torch.float32).numpy()
    with torch.no_grad():
        return model(**processor(audio, sampling_rate=RATE, return_tensors="pt")).logits[0]


def make(kind, build):
    """Tries seeds until every frame's best label is well ahead, so that no rounding chooses another."""
    folder = FOLDER / kind
    for seed in range(100):
        shutil.rmtree(folder, ignore_errors=True)
        torch.manual_seed(seed)
        model, processor, head, never = build(folder)
        scrambled(model, head, torch.Generator().manual_seed(seed))
        mean = torch.cat([logits_of(model, processor, s) for s in SOUNDS]).mean(0)
        head.bias.data -= mean  # so that all labels come
        head.bias.data[never] = -1e4
        logits = [logits_of(model, processor, s) for s in SOUNDS]
        texts = [processor.batch_decode([frames.argmax(-1).tolist()], skip_special_tokens=kind == "parakeet")[0]
                 for frames in logits]
        best = torch.cat([frames.topk(2).values for frames in logits])
        if (best[:, 0] - best[:, 1]).min() > 1e-3 * best.abs().max() and min(map(len, texts)) > 5 and len(set(texts)) == 3:
            break
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    (folder / "transcripts.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    print(kind, seed, texts)


shutil.rmtree(FOLDER, ignore_errors=True)
for kind, build in (("parakeet", parakeet), ("wav2vec2", wav2vec2)):
    make(kind, build)
for seed in SOUNDS:
    with wave.open(str(FOLDER / f"{seed}.wav"), "wb") as out:
        out.setparams((1, 2, RATE, 0, "NONE", ""))
        out.writeframes(sound(seed).tobytes())
