#!/usr/bin/env python3
"""Writes piece_tokenizers/: small tokenizer.json files as Parakeets have them, and what tokenizers makes of texts and
of random tokens (pip install tokenizers==0.23.3 transformers==5.23.0 sentencepiece==0.2.3 protobuf).

A line of cases.jsonl is [tokenizer, the blank's token, text or null, tokens, decoded text].
"""
import json
import pathlib
import random
import tempfile

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers.convert_slow_tokenizer import ParakeetConverter

FOLDER = pathlib.Path(__file__).with_suffix("")
TEXTS = (FOLDER.parent / "pieces" / "texts.txt").read_text(encoding="utf-8").splitlines()
OTHERS = ["a", "the", "another morning", "the stronger wind", "weg klein", "shells at the shore", "ñandú", "straße",
          "it's the other dog's home", "t h e", "ananas bananas", "mississippi", "sees seas, she sees", "naïve façade",
          "the 🐕 sat", "日本 and the sea"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
random.seed(29)


def add_blank(tokenizer, blank="<pad>"):
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in ("<unk>", blank)])
    return tokenizer


def converted(kind):
    """As nvidia's Parakeets are converted: with a table of characters, and a fallback on bytes that no piece is for."""
    with tempfile.TemporaryDirectory() as folder:
        rules = pathlib.Path(folder, "rules.tsv")
        rules.write_text("DF\t73 73\n2C\t\n", encoding="utf-8")  # ß becomes ss, a comma nothing
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(TEXTS), model_prefix=folder + "/model", num_threads=1, character_coverage=1.0,
            minloglevel=2, model_type=kind, vocab_size=80, normalization_rule_tsv=str(rules), bos_id=-1, eos_id=-1)
        return add_blank(ParakeetConverter(folder + "/model.model").converted())


def trained_bpe():
    """Of pieces that go over the ends of words, with bytes; the blank is the first token."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.train_from_iterator(TEXTS, trainers.BpeTrainer(
        vocab_size=420, special_tokens=["<pad>", "<unk>", "<s>"] + BYTES, show_progress=False))
    saved = json.loads(tokenizer.to_str())
    saved["added_tokens"] = [token for token in saved["added_tokens"] if token["content"] not in BYTES]
    return Tokenizer.from_str(json.dumps(saved))


def trained_unigram(scheme):
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Replace(Regex(" {2,}"), " ")
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme=scheme)
    tokenizer.train_from_iterator(TEXTS, trainers.UnigramTrainer(
        vocab_size=70, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False))
    return add_blank(tokenizer, "<blank>")


TOKENIZERS = {"converted-bpe": converted("bpe"), "converted-unigram": converted("unigram"), "bytes-bpe": trained_bpe(),
              "unigram": trained_unigram("always"), "unigram-no-prefix": trained_unigram("never")}
FOLDER.mkdir(exist_ok=True)
with open(FOLDER / "cases.jsonl", "w", encoding="utf-8") as out:
    for name, tokenizer in TOKENIZERS.items():
        tokenizer.save(str(FOLDER / f"{name}.json"), pretty=False)
        blank = next(i for i in (tokenizer.token_to_id("<pad>"), tokenizer.token_to_id("<blank>")) if i is not None)
        unknown = tokenizer.token_to_id("<unk>")
        for text in TEXTS + OTHERS:
            tokens = tokenizer.encode(text, add_special_tokens=False).ids
            if unknown not in tokens:
                print(json.dumps([name, blank, text, tokens, tokenizer.decode(tokens)], ensure_ascii=False), file=out)
        known = [i for t, i in tokenizer.get_vocab().items() if i != blank and t not in BYTES]
        for _ in range(20):
            tokens = random.choices(known, k=random.randint(1, 12))
            print(json.dumps([name, blank, None, tokens, tokenizer.decode(tokens)], ensure_ascii=False), file=out)
