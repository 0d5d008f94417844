#!/usr/bin/env python3
"""Trains what transformers would train in place of a recipe's model, and prints error rates as `penstock train` does.

  train_transformers.py RECIPE TRAIN.jsonl VALIDATION.jsonl --cpu-seconds S [--threads N] [--every STEPS]
                        [--pieces FILE.model] [KEY=VALUE...]

Model, features, batches, speeds, optimizer and schedule are the recipe's. model.kind = "wav2vec2" becomes Wav2Vec2ForCTC,
"conformer" becomes ParakeetForCTC. All processor time counts, validation too; imports and the reading of audio do not.

What differs: the draws of initial weights, dropout and batches; transformers' own initialisation; where it puts dropout.
ParakeetForCTC's subsampling by 4 is depthwise, and its batch norm in training counts padding.
Needs from pip: torch transformers torchaudio soundfile sentencepiece.
"""
import argparse
import math
import random
import time
import tomllib
from pathlib import Path

import torch

from speech import Features, Labels, batches, edits, read_manifest
from transformers import ParakeetCTCConfig, ParakeetForCTC, Wav2Vec2Config, Wav2Vec2ForCTC

ROOT = Path(__file__).resolve().parents[2]


def read_recipe(path, overrides):
    """Sections of keys. A model's base comes first, overrides last."""
    recipe = tomllib.loads(Path(path).read_text())
    if base := recipe["model"].get("base"):
        keys = tomllib.loads((ROOT / f"configs/models/{base}.toml").read_text())["model"]
        recipe["model"] = keys | recipe["model"]
    for override in overrides:
        name, value = override.split("=", 1)
        section, key = name.split(".")
        try:
            value = tomllib.loads(f"x = {value}")["x"]
        except tomllib.TOMLDecodeError:
            pass  # text without quotes
        recipe.setdefault(section, {})[key] = value
    return recipe


def wav2vec2(model, classes):
    dropout, kernels = model.get("dropout", 0.0), model["kernels"]
    return Wav2Vec2ForCTC(Wav2Vec2Config(
        vocab_size=classes, pad_token_id=0, hidden_size=model["width"], num_hidden_layers=model["layers"],
        num_attention_heads=model["heads"], intermediate_size=model["inner"], conv_dim=[model["channels"]] * len(kernels),
        conv_kernel=kernels, conv_stride=model["strides"], num_conv_pos_embeddings=model["position_kernel"],
        num_conv_pos_embedding_groups=model["position_groups"], feat_extract_norm="layer", conv_bias=True,
        do_stable_layer_norm=True, hidden_dropout=dropout, activation_dropout=dropout, attention_dropout=dropout,
        feat_proj_dropout=0.0, final_dropout=0.0, layerdrop=model.get("layer_drop", 0.0), mask_time_prob=0.0,
        ctc_loss_reduction="sum", ctc_zero_infinity=True))


def parakeet(model, classes):
    dropout, width = model.get("dropout", 0.0), model["width"]
    return ParakeetForCTC(ParakeetCTCConfig(
        vocab_size=classes, pad_token_id=0, ctc_loss_reduction="sum", ctc_zero_infinity=True, encoder_config=dict(
            hidden_size=width, num_hidden_layers=model["layers"], num_attention_heads=model["heads"],
            intermediate_size=model.get("inner") or 4 * width, conv_kernel_size=model["kernel"],
            subsampling_factor=model.get("subsampling", 4), subsampling_conv_channels=model.get("channels") or width,
            num_mel_bins=model["features"], scale_input=model.get("scale_input", False), activation_dropout=dropout,
            attention_dropout=dropout, dropout=model.get("input_dropout", 0.0), dropout_positions=0.0,
            layerdrop=model.get("layer_drop", 0.0))))


class Peer:
    """A model of transformers, with one way in and out for both architectures."""

    def __init__(self, recipe, classes):
        self.raw = recipe["model"]["kind"] == "wav2vec2"
        self.model = (wav2vec2 if self.raw else parakeet)(recipe["model"], classes)

    def __call__(self, features, labels):
        """Sum of the utterances' losses, and logits with their numbers of frames."""
        lengths = torch.tensor([len(x) for x in features])
        x = torch.nn.utils.rnn.pad_sequence(features, batch_first=True)
        mask = (torch.arange(x.shape[1])[None] < lengths[:, None]).long()
        y = torch.nn.utils.rnn.pad_sequence(labels, batch_first=True, padding_value=-100 if self.raw else 0)
        out = self.model(x, attention_mask=mask, labels=y)
        frames = (self.model._get_feat_extract_output_lengths if self.raw else self.model.encoder._get_subsampling_output_length)(lengths)
        return out.loss, out.logits, frames


def learning_rate(schedule, peak, step):
    """As runtime/optim/learning_rate.cpp."""
    warmup, low = schedule.get("warmup", 0), schedule.get("min_lr", 0.0)
    if step < warmup:
        return peak * (step + 1) / warmup
    if schedule.get("kind", "constant") == "constant":
        return peak
    assert schedule["kind"] == "cosine", "this peer knows constant and cosine schedules"
    share = min(1.0, (step - warmup) / max(1, schedule["total_steps"] - warmup))
    return low + (peak - low) * (1 + math.cos(math.pi * share)) / 2


@torch.no_grad()
def validate(peer, corpus, labels, extract, seconds):
    """Validation's loss an utterance, WER and CER in per cent."""
    peer.model.eval()
    loss, wrong, total = 0.0, [0, 0], [0, 0]
    for batch in batches(corpus, seconds, [1.0], None):
        targets = [labels.of(u.text) for u, _ in batch]
        part, logits, frames = peer([extract(u, speed) for u, speed in batch], targets)
        loss += part.item()
        for row, count, target in zip(logits.argmax(-1), frames, targets):
            found = labels.decode(torch.unique_consecutive(row[:int(count)]).tolist())
            said = labels.text(target.tolist())
            for i, (a, b) in enumerate(((said.split(), found.split()), (said, found))):
                wrong[i] += edits(a, b)
                total[i] += len(a)
    peer.model.train()
    return loss / len(corpus), 100 * wrong[0] / total[0], 100 * wrong[1] / total[1]


def train(peer, recipe, corpora, labels, options):
    data, keys, schedule = recipe["data"], recipe["optimizer"], recipe.get("lr_schedule", {})
    assert keys["kind"] == "adamw", "this peer knows adamw"
    extract, rng = Features(recipe["features"]), random.Random(options.seed)
    optimizer = torch.optim.AdamW(peer.model.parameters(), keys["learning_rate"], eps=keys.get("epsilon", 1e-8),
                                  betas=(keys.get("beta1", 0.9), keys.get("beta2", 0.999)),
                                  weight_decay=keys.get("weight_decay", 1e-5))
    seconds, speeds = data["micro_batch_seconds"], data.get("speeds", [1])
    for speed in {1.0, *speeds}:  # the reading and resampling of audio does not count
        for utterance in corpora[0] + (corpora[1] if speed == 1 else []):
            extract.samples(utterance, speed)
    start, wall, step, waiting = time.process_time(), time.monotonic(), 0, []

    def report():
        loss, wer, cer = validate(peer, corpora[1], labels, extract, seconds)
        print(f"step {step}: {time.process_time() - start:.0f} CPU s, {time.monotonic() - wall:.0f} s, "
              f"validation loss {loss:.3f}, WER {wer:.2f} %, CER {cer:.2f} %", flush=True)

    peer.model.train()
    while step < recipe["trainer"]["steps"] and time.process_time() - start < options.cpu_seconds:
        if not waiting:
            waiting = list(batches(corpora[0], seconds, speeds, rng))
        now, waiting = waiting[:data.get("micro_batches", 4)], waiting[data.get("micro_batches", 4):]
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(schedule, keys["learning_rate"], step)
        optimizer.zero_grad(set_to_none=True)
        for batch in now:
            loss, _, _ = peer([extract(u, speed) for u, speed in batch], [labels.of(u.text) for u, _ in batch])
            (loss / sum(len(b) for b in now)).backward()
        torch.nn.utils.clip_grad_norm_(peer.model.parameters(), keys.get("clip_norm") or math.inf)
        optimizer.step()
        step += 1
        if step % options.every == 0:
            report()
    if step % options.every:
        report()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe")
    parser.add_argument("train")
    parser.add_argument("validation")
    parser.add_argument("overrides", nargs="*")
    parser.add_argument("--cpu-seconds", type=float, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--every", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pieces")
    options = parser.parse_intermixed_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    recipe = read_recipe(options.recipe, options.overrides)
    labels = Labels(recipe.get("text", {}), options.pieces)
    peer = Peer(recipe, labels.classes)
    print(f"{type(peer.model).__name__}: {sum(p.numel() for p in peer.model.parameters())} parameters", flush=True)
    train(peer, recipe, [read_manifest(options.train), read_manifest(options.validation)], labels, options)


if __name__ == "__main__":
    main()
