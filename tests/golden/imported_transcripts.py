#!/usr/bin/env python3
"""Writes imported_transcripts/: tiny models as transformers saves them, sounds, and what they make of them, from audio
to transcript (pip install torch transformers==5.24.0 tokenizers==0.23.3).

  imported_transcripts.py [KIND...]

The models have random weights; each frame's best label is well ahead of the next. A transducer's transcripts stay the same
when its encoded frames change a little. Parakeets have the pieces of piece_tokenizers/converted-bpe.json, which
piece_tokenizers.py writes.
"""
import json
import math
import shutil
import sys
import wave
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import (
    ParakeetCTCConfig, ParakeetEncoderConfig, ParakeetFeatureExtractor, ParakeetForCTC, ParakeetForRNNT, ParakeetForTDT,
    ParakeetProcessor, ParakeetRNNTConfig, ParakeetTDTConfig, ParakeetTokenizer, Wav2Vec2Config, Wav2Vec2CTCTokenizer, Wav2Vec2FeatureExtractor, Wav2Vec2ForCTC,
    Wav2Vec2Processor)

FOLDER = Path(__file__).with_suffix("")
RATE = 16000
SOUNDS = (1, 2, 3)


def sound(seed):
    times = np.arange(RATE * (3 + seed) // 4) / RATE
    noise = np.random.default_rng(seed).normal(0, 0.2, len(times))
    return ((np.sin(2 * math.pi * (150 + 400 * seed) * times * (1 + times)) + noise) * 8000).astype("<i2")


def parakeet_parts(**more):
    """The sizes of a model, whose blank is last, and its processor."""
    tokenizer = Tokenizer.from_file(str(FOLDER.parent / "piece_tokenizers" / "converted-bpe.json"))
    labels = tokenizer.get_vocab_size()
    sizes = dict(vocab_size=labels, pad_token_id=labels - 1, encoder_config=ParakeetEncoderConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=20, conv_kernel_size=5,
        subsampling_conv_channels=4, num_mel_bins=16))
    processor = ParakeetProcessor(
        ParakeetFeatureExtractor(feature_size=16),
        ParakeetTokenizer(tokenizer_object=tokenizer, pad_token="<pad>", unk_token="<unk>"), **more)
    return sizes, processor


def parakeet(folder):
    sizes, processor = parakeet_parts()
    model = ParakeetForCTC(ParakeetCTCConfig(**sizes))
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


def transcript(model, processor, seed, noise=0.0):
    audio = torch.tensor(sound(seed) / 32768.0, dtype=torch.float32).numpy()
    inputs = processor(audio, sampling_rate=RATE, return_tensors="pt")
    def disturb(module, args, output): return output * (1 + noise * torch.randn_like(output))
    hook = model.encoder_projector.register_forward_hook(disturb)
    text = processor.batch_decode(model.generate(**inputs).sequences, skip_special_tokens=True)[0]
    hook.remove()
    return text


def balance(model, processor):
    """So that all labels come, and the blank at about every other step."""
    blank, head = model.config.blank_token_id, model.joint.head
    frames = []
    for s in SOUNDS:
        audio = torch.tensor(sound(s) / 32768.0, dtype=torch.float32).numpy()
        frames.append(model.get_audio_features(**processor(audio, sampling_rate=RATE, return_tensors="pt")).pooler_output[0])
    predicted = model.decoder(torch.randint(blank, (1, 50)))
    logits = model.joint(decoder_hidden_states=predicted, encoder_hidden_states=torch.cat(frames)[:, None]).detach().flatten(0, 1)
    head.bias.data -= logits.mean(0)
    head.bias.data[blank] += 2.6 * logits[:, :blank].std(0).mean()


def make_transducer(kind, decoder):
    """Tries seeds until transcripts are short and firm."""
    folder = FOLDER / kind
    classes = {"rnnt": (ParakeetForRNNT, ParakeetRNNTConfig), "tdt": (ParakeetForTDT, ParakeetTDTConfig)}[decoder]
    for seed in range(1000):
        torch.manual_seed(seed)
        sizes, processor = parakeet_parts(blank_token="<pad>", decoder_type=decoder)
        blank, labels = sizes["pad_token_id"], sizes["vocab_size"]
        model = classes[0](classes[1](**sizes, blank_token_id=blank, decoder_hidden_size=12))
        scrambled(model, model.joint.head, torch.Generator().manual_seed(seed))
        model.encoder_projector.weight.data *= 3  # so that sounds differ
        balance(model, processor)
        model.generation_config.decoder_start_token_id = blank
        if decoder == "tdt":
            model.generation_config.suppress_tokens = list(range(labels, labels + 5))
        texts = [transcript(model, processor, s) for s in SOUNDS]
        if not all(5 < len(text) < 60 for text in texts) or len(set(texts)) < 3:
            continue
        if all(transcript(model, processor, s, 1e-4) == text for s, text in zip(SOUNDS, texts) for _ in range(3)):
            break
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    (folder / "transcripts.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    print(kind, seed, texts)


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


MAKERS = {"parakeet": lambda kind: make(kind, parakeet), "wav2vec2": lambda kind: make(kind, wav2vec2),
          "parakeet_rnnt": lambda kind: make_transducer(kind, "rnnt"), "parakeet_tdt": lambda kind: make_transducer(kind, "tdt")}
for kind in sys.argv[1:] or MAKERS:
    MAKERS[kind](kind)
for seed in SOUNDS:
    with wave.open(str(FOLDER / f"{seed}.wav"), "wb") as out:
        out.setparams((1, 2, RATE, 0, "NONE", ""))
        out.writeframes(sound(seed).tobytes())
