#!/usr/bin/env python3
"""Writes error_rates.jsonl: 1,000 random pairs of texts with jiwer's counts (pip install jiwer==4.0.0).

A line is [reference, hypothesis, word edits, words, character edits, characters]; the last one is
[word error rate, character error rate] of all pairs together.
"""

import json
import pathlib
import random

import jiwer

random.seed(20)
WORDS = ["a", "an", "ten", "den", "one", "naïve", "señor", "żółw", "数字", "don't", "e\u0301", "😀"]
SPACES = [" "] * 12 + ["  ", " \t", "\u00a0 ", "\t"]


def sentence(most):
    words = random.choices(WORDS, k=random.randint(0, most))
    text = "".join(word + random.choice(SPACES) for word in words)
    return random.choice(["", "", " "]) + (text if random.random() < 0.3 else text.rstrip())


def corrupted(text):
    characters = list(text)
    for _ in range(random.randint(0, 6)):
        at = random.randint(0, len(characters))
        kind = random.random()
        if kind < 0.4:
            characters[at : at + 1] = random.choice("aednt ï")
        elif kind < 0.7:
            del characters[at : at + random.randint(1, 3)]
        else:
            characters[at:at] = random.choice("aednt ï")
    return "".join(characters)


pairs = []
for _ in range(1000):
    reference = sentence(9)
    pairs.append((reference, sentence(9) if random.random() < 0.2 else corrupted(reference)))

with open(pathlib.Path(__file__).with_suffix(".jsonl"), "w", encoding="utf-8") as out:
    for reference, hypothesis in pairs:
        words = jiwer.process_words(reference, hypothesis)
        characters = jiwer.process_characters(reference, hypothesis)
        counts = []
        for result in (words, characters):
            counts.append(result.substitutions + result.deletions + result.insertions)
            counts.append(result.hits + result.substitutions + result.deletions)
        print(json.dumps([reference, hypothesis, *counts], ensure_ascii=False), file=out)
    references, hypotheses = map(list, zip(*pairs))
    print(json.dumps([jiwer.wer(references, hypotheses), jiwer.cer(references, hypotheses)]), file=out)
