#!/usr/bin/env python3
"""Writes ctc_beam/: a language model in ARPA's format, frames of characters and of pieces, and the texts and scores that
pyctcdecode finds in them with and without the model (pip install pyctcdecode==0.5.0 kenlm==0.3.0 "numpy<2").

A line of cases.jsonl is [labels, options, logits of each frame in hundredths, the best texts with their scores]. In hot_words.jsonl
each line ends with hot words and their score.
No space can end a text, since pyctcdecode takes it for a word more.
"""

import collections
import json
import math
import pathlib
import random

import numpy
import pyctcdecode

WORDS = "null eins zwei drei vier fünf sechs sieben acht neun zehn zwo elf und hundert".split()
CHARACTERS = ["", " "] + sorted(set("".join(WORDS)))
PIECES = ["", "▁eins", "▁z", "▁zw", "▁drei", "▁f", "▁v", "ier", "ünf", "ehn", "ei", "o", "▁s", "▁se", "chs", "ieb", "en",
          "▁acht", "▁n", "eun", "ull", "▁elf", "▁und", "▁h", "und", "ert", "e", "n", "s", "h", "d"]


def write_model(path, sentences):
    """Writes bigrams with absolute discounting."""
    ones, twos = collections.Counter(), collections.Counter()
    for sentence in sentences:
        words = ["<s>", *sentence, "</s>"]
        ones.update(words[1:])
        twos.update(zip(words, words[1:]))
    total, before = sum(ones.values()), collections.Counter()
    kinds = collections.Counter(first for first, _ in twos)
    for (first, _), count in twos.items():
        before[first] += count
    spare = {word: 0.5 * kinds[word] / before[word] for word in before}
    one = {word: 0.95 * count / total for word, count in ones.items()}
    lines = ["\\data\\", f"ngram 1={len(one) + 2}", f"ngram 2={len(twos)}", "", "\\1-grams:", f"{math.log10(0.05):.5f}\t<unk>"]
    for word in ["<s>", *sorted(one)]:
        log = math.log10(one[word]) if word in one else -99
        lines.append(f"{log:.5f}\t{word}" + (f"\t{math.log10(spare[word]):.5f}" if word in spare else ""))
    lines += ["", "\\2-grams:"]
    for first, second in sorted(twos):
        p = (twos[first, second] - 0.5) / before[first] + spare[first] * one[second]
        lines.append(f"{math.log10(p):.5f}\t{first} {second}")
    path.write_text("\n".join([*lines, "", "\\end\\", ""]), encoding="utf-8")


def cut(words):
    """Cuts words into pieces, the longest first."""
    labels = []
    for word in words:
        rest = "▁" + word
        while rest:
            piece = next(p for p in sorted(PIECES, key=len, reverse=True) if p and rest.startswith(p))
            labels.append(piece)
            rest = rest[len(piece):]
    return labels


def frames_of(labels, alphabet):
    """Returns uncertain logits of a text, whole hundredths."""
    rows, space = [], [i for i, label in enumerate(alphabet) if label == " "]
    last = max((i for i, label in enumerate(labels) if label == " "), default=-1)
    for at, label in enumerate(labels):
        for wanted in [label] * random.randint(1, 2) + [""] * random.randint(1, 2):
            row = [round(100 * random.gauss(0, 1.1)) for _ in alphabet]
            row[alphabet.index(wanted)] += 560
            for i in space:
                row[i] -= 3000 if at > last else 0
            rows.append(row)
    return rows


random.seed(42)
folder = pathlib.Path(__file__).with_suffix("")
folder.mkdir(exist_ok=True)
likely = {word: random.sample(WORDS, 3) for word in WORDS}
sentences = []
for _ in range(300):
    sentence = [random.choice(WORDS[:-1])]
    while random.random() < 0.7:
        sentence.append(random.choice(likely[sentence[-1]]))
    sentences.append(sentence)
write_model(folder / "digits.arpa", sentences)


def decoder_of(alphabet, alpha, beta, unknown):
    model = {} if alpha is None else dict(kenlm_model_path=str(folder / "digits.arpa"), alpha=alpha, beta=beta,
                                          unk_score_offset=unknown)
    return pyctcdecode.build_ctcdecoder(alphabet, **model)


def case(decoder, name, alphabet, unknown_share, score_range, beam_width, **options):
    """Returns logits of a sentence, and the best texts with their scores."""
    words = random.choice(sentences)[:3]
    if random.random() < unknown_share:
        words = [*words, "zweund"]  # a word that the model lacks
    labels = cut(words) if name == "pieces" else list(" ".join(words))
    frames = frames_of(labels, alphabet)
    beams = decoder.decode_beams(numpy.array(frames) / 100, beam_width=beam_width, beam_prune_logp=-score_range, token_min_logp=-5,
                                 **options)
    return frames, [[beam[0], round(float(beam[-1]), 4)] for beam in beams[:3]]


ALPHABETS = (("characters", CHARACTERS), ("pieces", PIECES))
with open(folder / "cases.jsonl", "w", encoding="utf-8") as out:
    for name, alphabet in ALPHABETS:
        for model in ((None, 0, 0), (0.5, 1.5, -10), (1.3, 0.5, -2)):
            decoder = decoder_of(alphabet, *model)
            for _ in range(3):
                out.write(json.dumps([alphabet, model, *case(decoder, name, alphabet, 0.3, 25, 300)], ensure_ascii=False) + "\n")
with open(folder / "hot_words.jsonl", "w", encoding="utf-8") as out:
    for name, alphabet in ALPHABETS:
        for model, score in (((None, 0, 0), 3), ((None, 0, 0), 10), ((0.5, 1.5, -10), 6)):
            decoder = decoder_of(alphabet, *model)
            for _ in range(2):
                hot = ["zweund", random.choice(WORDS)]
                found = case(decoder, name, alphabet, 0.6, 12, 2000, hotwords=hot, hotword_weight=score)
                out.write(json.dumps([alphabet, model, *found, hot, score], ensure_ascii=False) + "\n")
