#!/usr/bin/env python3
"""Writes pieces/: small SentencePiece models, and what Python's sentencepiece makes of texts and of random pieces
(pip install sentencepiece==0.2.3).

A line of cases.jsonl is [model, text or null, pieces, decoded text].
"""

import json
import pathlib
import random

import sentencepiece

TEXTS = """the cat sat on the mat and the dog sat on the cat
a quick brown fox jumps over the lazy dog
she sells sea shells by the sea shore
it's a long way home and the night is cold
they were walking in the rain without a word
señor müller heard the naïve answer and laughed
there is nothing there but the other mother's brother
the wind and the sun were disputing which was the stronger
we're all going to the seaside in the morning
groß und klein, straße und weg""".split("\n")
OTHERS = ["", "a", "the", "another morning", "the stronger wind", "weg klein", "shells at the shore", "ñandú",
          "straße", "it's the other dog's home", "t h e"]
MODELS = {
    # Public models have control symbols; penstock's own have none.
    "unigram": dict(model_type="unigram", vocab_size=80),
    "bpe": dict(model_type="bpe", vocab_size=90, bos_id=-1, eos_id=-1),
    "rules": dict(model_type="unigram", vocab_size=60, unk_id=2, bos_id=0, eos_id=1, add_dummy_prefix=False),
}

random.seed(21)
folder = pathlib.Path(__file__).with_suffix("")
folder.mkdir(exist_ok=True)
(folder / "texts.txt").write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
rules = folder / "rules.tsv"
rules.write_text("DF\t73 73\n2C\t\n", encoding="utf-8")  # ß becomes ss, a comma nothing
with open(folder / "cases.jsonl", "w", encoding="utf-8") as out:
    for name, options in MODELS.items():
        normalisation = {"normalization_rule_name": "identity"}
        if name == "rules":
            normalisation = {"normalization_rule_tsv": str(rules)}
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(TEXTS), model_prefix=str(folder / name), num_threads=1, character_coverage=1.0,
            minloglevel=2, **normalisation, **options)
        (folder / f"{name}.vocab").unlink()
        model = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{name}.model"))
        for text in TEXTS + OTHERS:
            pieces = model.encode(text)
            if model.unk_id() not in pieces:
                print(json.dumps([name, text, pieces, model.decode(pieces)], ensure_ascii=False), file=out)
        known = [piece for piece in range(len(model)) if not model.is_unknown(piece)]
        for _ in range(20):
            pieces = random.choices(known, k=random.randint(1, 12))
            print(json.dumps([name, None, pieces, model.decode(pieces)], ensure_ascii=False), file=out)
rules.unlink()
