#!/usr/bin/env python3
"""Writes byte_pairs/: small tokenizers of byte-level BPE as Whisper and Qwen2 have them, in both forms that transformers
saves, and what it makes of texts and of random tokens (pip install tokenizers==0.23.3 transformers==5.24.0).

A line of cases.jsonl is [tokenizer, text or null, ids, decoded text, decoded text without special tokens].
"""
import json
import pathlib
import random
import shutil

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

FOLDER = pathlib.Path(__file__).with_suffix("")
TEXTS = (FOLDER.parent / "pieces" / "texts.txt").read_text(encoding="utf-8").splitlines() + [
    "The quick brown fox jumps over the lazy dog's 12 old friends, and they'll say it's fine.",
    "We've seen 1984 and 2001; I'm sure you'd like 3.14159 or 1,000,000 better.",
    "Съешь же ещё этих мягких французских булок, да выпей чаю. Йод и ёлка.",
    "Zażółć gęślą jaźń. Příliš žluťoučký kůň úpěl ďábelské ódy. Việt Nam đẹp quá.",
    "いろはにほへと ちりぬるを 東京都に住んでいます。カタカナも。", "我能吞下玻璃而不伤身体。今天天气很好，我们去公园吧！",
    "나는 유리를 먹을 수 있어요. 한국어 음성 인식.", "मैं काँच खा सकता हूँ और मुझे उससे कोई चोट नहीं पहुंचती. १२३",
    "أنا قادر على أكل الزجاج و هذا لا يؤلمني. ٣٤٥", "אני יכול לאכול זכוכית וזה לא מזיק לי.",
    "Μπορώ να φάω σπασμένα γυαλιά χωρίς να πάθω τίποτα.", "ฉันกินกระจกได้ แต่มันไม่ทำให้ฉันเจ็บ",
    "def f(x):\n    return x + 1\n\n\nprint(f(2))\r\n", "👩‍👩‍👧 family 🏳️‍🌈 flags 🇩🇪 and 🤷🏽‍♀️ people",
]
ODD = [
    "", " ", "  ", "   a", "a   ", "a  b", "a\tb", "\t\ta", "a\n", "\n", "\n\n a", " \n b", "a \n\n  b", "a\r\nb", "a \r\n",
    "\u00a0a\u00a0\u00a0b", "a\u3000b", "a\u2028b", "a\x1cb", "\x85x", "don't", "DON'T", "don'T stop", "we'Ll", "'s", "' s",
    "x'ſ", "''s", "o'clock", "it's'll", "I’m", "12345", "a1b2", "1 2  3", "½ ² Ⅷ ①", "१२ ३", "...!!", " ...", "a!b", "!a",
    "!\n\na", "?! \n", "$x", " $ x", "_a_", "e\u0301", "é", "q\u0323\u0307", "q\u0307\u0323", "a\u0301\u0302b", "\u1112\u1161\u11ab",
    "ﬁ Å \u212b", "\u0301a", "👩‍👩‍👧", "🇩🇪🇫🇷", "🤷🏽‍♀️!", "a\u200db", "\ufeffa", "\u200b", "\x00a", "\x7f", "日本 語", "日本1語", "한 국",
    "<|endoftext|>", "a<|endoftext|>b", "a <|endoftext|> b", "<|endoftext|", "<|endoftext|><|endoftext|>", "<|en|>hello",
    "<|0.02|> hi<|0.04|>", "<asr_text>so", "a <asr_text> b", "caf\u0065\u0301 café", "a café b", "<mask>", "a  <mask>  b", "<pad> x",
    "a" * 61, "ab" * 40, "!" * 33, " " * 21 + "x", "the" * 30, "\n" * 9, "\u0e33\u0e33", "ǅ ʰ ª", "१", "௧௨", "\U000e0101a", "\U0001f9ff",
    "İstanbul ISTANBUL", "ß ẞ", "K \u212a", "\u2581the", "Ġthe", "ĊÂ", "😀😃😄", "a" + "\u0300" * 12,
]
random.seed(31)
CHARACTERS = list("aetsdlmrvESTLD'''   \n\r\t.,!?-12 \u00a0é\u0301ñ") + [
    "the", " the", "'ll", "日", "本", "한", "ж", "ш", "ा", "क", "😀", "\u200d", "½", "٣", "<asr_text>", "<|en|>", "ſ", "\u2003"]
RANDOM = ["".join(random.choices(CHARACTERS, k=random.randint(2, 18))) for _ in range(90)]
QWEN2 = r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
SPECIAL = ["<|endoftext|>", "<|en|>", "<|notimestamps|>"]


def trained(pre_tokenizer, normalizer=None):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(TEXTS, trainers.BpeTrainer(
        vocab_size=600, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    return tokenizer


def add_tokens(tokenizer, more):
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in SPECIAL])
    tokenizer.add_tokens(more)
    return tokenizer


def with_gaps(tokenizer):
    """Leaves ids out, as vocabularies do that a head is larger than, and writes merges as one text."""
    saved = json.loads(tokenizer.to_str())
    ids = {token["content"]: token["id"] for token in saved["added_tokens"]} | saved["model"]["vocab"]
    moved = {token: i + 3 * (i >= 300) + 5 * (i >= 590) for token, i in ids.items()}
    saved["model"]["vocab"] = moved
    saved["model"]["merges"] = [" ".join(merge) for merge in saved["model"]["merges"]]
    for token in saved["added_tokens"]:
        token["id"] = moved[token["content"]]
    return Tokenizer.from_str(json.dumps(saved)), saved


def qwen2_steps():
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(QWEN2), behavior="isolated"),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def whisper():
    return add_tokens(trained(pre_tokenizers.ByteLevel(add_prefix_space=False)), [
        AddedToken("<|0.02|>", normalized=False), AddedToken("<|0.04|>", normalized=False),
        AddedToken("<mask>", lstrip=True, rstrip=True, normalized=False)])


def qwen2():
    return add_tokens(trained(qwen2_steps(), normalizers.NFC()), [
        AddedToken("<asr_text>", normalized=False), AddedToken("cafe\u0301", normalized=True)])


def write_older_files(name, tokenizer, tokenizer_class):
    """Writes vocab.json, merges.txt and tokenizer_config.json, and returns what transformers loads from these alone."""
    folder = FOLDER / f"{name}-files"
    folder.mkdir()
    tokenizer.model.save(str(folder))
    added = json.loads(tokenizer.to_str())["added_tokens"]
    config = {"tokenizer_class": tokenizer_class, "add_prefix_space": False, "eos_token": "<|endoftext|>",
              "bos_token": "<|endoftext|>", "unk_token": "<|endoftext|>", "pad_token": "<|endoftext|>",
              "added_tokens_decoder": {str(token.pop("id")): token for token in added}}
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return AutoTokenizer.from_pretrained(str(folder))


def by_library(tokenizer):
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


shutil.rmtree(FOLDER, ignore_errors=True)
FOLDER.mkdir()
TOKENIZERS = {}
for name, made, files_class in [("whisper", whisper(), "WhisperTokenizer"), ("qwen2", qwen2(), "Qwen2Tokenizer")]:
    made.save(str(FOLDER / f"{name}.json"), pretty=False)
    TOKENIZERS[f"{name}.json"] = by_library(made)
    TOKENIZERS[f"{name}-files"] = write_older_files(name, made, files_class)
gaps, saved = with_gaps(add_tokens(trained(pre_tokenizers.ByteLevel(add_prefix_space=True)), ["caf\u00e9", "<asr_text>"]))
(FOLDER / "prefix-gaps.json").write_text(json.dumps(saved, ensure_ascii=False), encoding="utf-8")
TOKENIZERS["prefix-gaps.json"] = by_library(gaps)

with open(FOLDER / "cases.jsonl", "w", encoding="utf-8") as out:
    for name, tokenizer in TOKENIZERS.items():
        def decoded(ids, skip):
            return tokenizer.decode(ids, skip_special_tokens=skip, clean_up_tokenization_spaces=False)
        files = name.endswith("-files")
        for text in TEXTS + ODD + RANDOM:
            ids = tokenizer.encode(text, add_special_tokens=False)
            line = [name, text, ids, None if files else decoded(ids, False), None if files else decoded(ids, True)]
            print(json.dumps(line, ensure_ascii=False), file=out)
        known = sorted(tokenizer.get_vocab().values())
        for _ in range(0 if files else 40):
            ids = random.choices(known, k=random.randint(1, 12))
            print(json.dumps([name, None, ids, decoded(ids, False), decoded(ids, True)], ensure_ascii=False), file=out)
