#!/usr/bin/env python3
"""Random small recognisers with an attention decoder through `penstock import` and `penstock export`: losses, gradients, greedy texts,
and those of beams with their scores are those of transformers, and the export is equal to the byte. Folders have habits of real ones:
several files, a head that is stored although it is tied, settings that are left out, tokens beyond the head, and tokens that no text
has.

  attention_round_trip.py PENSTOCK KIND FOLDER [SEED...]

KIND is whisper, whisper_plain (of one language), canary or cohere; or anew_whisper, anew_canary or anew_cohere: models that penstock
trains, and that transformers loads.
"""
import copy
import json
import random
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    AutoFeatureExtractor, AutoTokenizer, CanaryConfig, CanaryForConditionalGeneration, CohereAsrConfig, CohereAsrFeatureExtractor,
    CohereAsrForConditionalGeneration, ParakeetFeatureExtractor, PreTrainedTokenizerFast, WhisperConfig, WhisperFeatureExtractor,
    GenerationMixin, WhisperForConditionalGeneration, WhisperProcessor, WhisperTokenizer)

from round_trip import compare_gradients, expect_same_model, fast_conformer, in_double, run, save, save_sound

WHISPER_TOKENS = ["<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|el|>", "<|translate|>", "<|transcribe|>", "<|nospeech|>",
                  "<|notimestamps|>", "<|0.00|>", "<|0.02|>", "<|0.04|>"]
CANARY_TOKENS = ["<|nospeech|>", "<pad>", "<|endoftext|>", "<|startoftranscript|>", "<|pnc|>", "<|nopnc|>", "<|startofcontext|>",
                 "<|noitn|>", "<|notimestamp|>", "<|nodiarize|>", "<|emo:undefined|>", "<|en|>", "<|el|>"]


def whisper_tokenizer():
    """Every byte, a few merges, and special tokens that end with times."""
    tokens = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("a", "b"), ("Ġ", "c"), ("ab", "e")]
    vocabulary = {token: row for row, token in enumerate([*tokens, *map("".join, merges)])}
    tokenizer = WhisperTokenizer(vocab=vocabulary, merges=merges)
    tokenizer.add_special_tokens({"additional_special_tokens": [AddedToken(token, special=True) for token in WHISPER_TOKENS[1:8]]})
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in WHISPER_TOKENS[8:]])
    return tokenizer


def save_whisper(folder, rng, plain=False):
    tokenizer = whisper_tokenizer()
    rows = {token: tokenizer.convert_tokens_to_ids(token) for token in WHISPER_TOKENS}
    mels, heads = rng.choice([80, 128]), rng.randint(1, 3)
    WhisperProcessor(WhisperFeatureExtractor(feature_size=mels), tokenizer).save_pretrained(folder)
    model = WhisperForConditionalGeneration(WhisperConfig(
        vocab_size=len(tokenizer) + rng.randint(-2, 3), num_mel_bins=mels, d_model=heads * 2 * rng.randint(2, 6),
        encoder_attention_heads=heads, decoder_attention_heads=heads, encoder_layers=rng.randint(1, 2), decoder_layers=rng.randint(1, 2),
        encoder_ffn_dim=rng.randint(3, 40), decoder_ffn_dim=rng.randint(3, 40), max_target_positions=rng.randint(12, 20),
        decoder_start_token_id=rows["<|startoftranscript|>"], begin_suppress_tokens=None,
        **dict.fromkeys(("eos_token_id", "bos_token_id", "pad_token_id"), rows["<|endoftext|>"])))
    model.generation_config.is_multilingual = not plain
    return model


def whisper_prompt(language, plain=False):
    return ["<|startoftranscript|>", *([] if plain else [f"<|{language}|>", "<|transcribe|>"]), "<|notimestamps|>"]


def canary_tokenizer(rng):
    """Pieces as Canary's: special ones first."""
    pieces = ["<unk>", *CANARY_TOKENS, "▁"] + [chr(0x3b1 + i) for i in range(rng.randint(3, 20))]
    tokenizer = Tokenizer(models.Unigram([(piece, -float(i)) for i, piece in enumerate(pieces)], unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=False)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always", split=False)
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in ("<unk>", *CANARY_TOKENS)])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", pad_token="<pad>", eos_token="<|endoftext|>",
                                   bos_token="<|startoftranscript|>")


def sizes_of_decoder(rng, heads, width):
    return dict(hidden_size=width, num_hidden_layers=rng.randint(1, 2), num_attention_heads=heads, num_key_value_heads=heads,
                head_dim=width // heads, intermediate_size=rng.randint(3, 40), max_position_embeddings=rng.randint(14, 22),
                hidden_act=rng.choice(["relu", "gelu"]))


def save_canary(folder, rng):
    tokenizer, encoder = canary_tokenizer(rng), fast_conformer(rng)
    while encoder.hidden_size < 4:  # transformers has no positions of 2 channels
        encoder = fast_conformer(rng)
    tokenizer.save_pretrained(folder)
    ParakeetFeatureExtractor(feature_size=encoder.num_mel_bins).save_pretrained(folder)
    rows = len(tokenizer) + rng.randint(0, 3)
    return CanaryForConditionalGeneration(CanaryConfig(
        vocab_size=rows, encoder_config=encoder,
        decoder_config=dict(vocab_size=rows, **sizes_of_decoder(rng, encoder.num_attention_heads, encoder.hidden_size))))


def save_cohere(folder, rng):
    tokenizer, encoder, heads = canary_tokenizer(rng), fast_conformer(rng), rng.randint(1, 3)
    tokenizer.save_pretrained(folder)
    CohereAsrFeatureExtractor(feature_size=encoder.num_mel_bins, dither=0.0).save_pretrained(folder)  # its noise is PyTorch's
    rows = len(tokenizer) + rng.randint(0, 3)
    return CohereAsrForConditionalGeneration(CohereAsrConfig(
        vocab_size=rows, encoder_config=encoder, tie_word_embeddings=rng.choice([True, False]),
        **sizes_of_decoder(rng, heads, heads * 2 * rng.randint(2, 6))))


def canary_prompt(language):
    return ["<|startofcontext|>", "<|startoftranscript|>", "<|emo:undefined|>", f"<|{language}|>", f"<|{language}|>", "<|pnc|>",
            "<|noitn|>", "<|notimestamp|>", "<|nodiarize|>"]


SAVERS = {"whisper": save_whisper, "whisper_plain": lambda folder, rng: save_whisper(folder, rng, plain=True), "canary": save_canary,
          "cohere": save_cohere}
PROMPTS = {"whisper": whisper_prompt, "whisper_plain": lambda language: whisper_prompt(language, plain=True),
           "canary": canary_prompt, "cohere": lambda language: ["▁", *canary_prompt(language)]}


BASES = {"whisper": "whisper-large-v3", "canary": "canary-1b-v2", "cohere": "cohere-transcribe"}
CLASSES = {"whisper": WhisperForConditionalGeneration, "canary": CanaryForConditionalGeneration,
           "cohere": CohereAsrForConditionalGeneration}


def spread(model, usual):
    """Texts are of several tokens with weights like these, few of them other than the usual ones."""
    for name, parameter in model.named_parameters():
        if parameter.dim() == 2 and "decoder" in name:
            std = 1 if "embed_tokens" in name else parameter.shape[1] ** -0.5
            torch.nn.init.normal_(parameter, mean=-1 / 16, std=std)  # save() adds 1 / 16 on average
    head, rows = model.get_output_embeddings(), [row for row in range(model.config.vocab_size) if row not in usual]
    with torch.no_grad():
        head.weight[rows] /= 8
        if head.bias is not None:
            head.bias[rows] -= 2
    if isinstance(model, WhisperForConditionalGeneration):
        model.model.encoder.embed_positions.requires_grad_(False)  # as in a model that is loaded


def leave_out(folder, rng):
    """Settings that have the class's defaults, and a second copy of a tied head."""
    settings = json.loads((folder / "config.json").read_text())
    for key in ("attention_dropout", "scale_embedding", "use_cache"):
        if rng.choice([True, False]):
            settings.pop(key, None)
    (folder / "config.json").write_text(json.dumps(settings, indent=2))
    weights = folder / "model.safetensors"
    if weights.exists() and settings["tie_word_embeddings"]:
        tensors = load_file(weights)
        embedding = "model.decoder.embed_tokens.weight"
        if embedding in tensors:
            tensors["proj_out.weight"] = tensors[embedding].clone()
        save_file(tensors, weights, metadata={"format": "pt"})


def inputs_of(extractor, sound):
    inputs = dict(extractor(sound, sampling_rate=16000, return_tensors="pt"))
    inputs.pop("audio_chunk_index", None)
    return in_double(inputs)


def logits_after(model, inputs, ids):
    return model(**inputs, decoder_input_ids=torch.tensor([ids])).logits[0]


def loss_after(prompt):
    """The sum over the labels and the end; transformers' own loss is the mean, of the prompt too."""
    def loss(model, extractor, sound, labels):
        logits = logits_after(model, inputs_of(extractor, sound), prompt + labels.tolist())[len(prompt) - 1:]
        target = torch.cat([labels, torch.tensor([model.config.eos_token_id])])
        return torch.nn.functional.cross_entropy(logits, target, reduction="sum")
    return loss


def suppress(model, usual, rng):
    """Tokens that no text has, some of them beyond the head, and some that begin none, such as the end."""
    config, rows = model.generation_config, range(model.config.vocab_size)
    config.suppress_tokens = rng.choice([None, [*rng.sample(rows, 5), *rng.sample(sorted(usual), 2), 10 ** 5]])
    config.begin_suppress_tokens = rng.choice([None, [model.config.eos_token_id, *rng.sample(sorted(usual), 3)]])
    if config.suppress_tokens and model.config.eos_token_id in config.suppress_tokens:
        config.suppress_tokens.remove(model.config.eos_token_id)


def texts_of(model, inputs, prompt, new, beam, penalty):
    """The labels of a greedy search, or those of every text of a beam with their scores, the best first."""
    search = {} if beam == 1 else dict(num_beams=beam, length_penalty=penalty, num_return_sequences=beam)
    found = GenerationMixin.generate(  # not that of Whisper, which has a prompt of its own
        model, **inputs, decoder_input_ids=torch.tensor([prompt]), decoder_start_token_id=prompt[0], do_sample=False, max_new_tokens=new,
        return_dict_in_generate=True, output_scores=True, **search)
    ends = {model.config.eos_token_id, model.generation_config.pad_token_id}
    labels = [[row for row in text[len(prompt):].tolist() if row not in ends] for text in found.sequences]
    return [(text, None) for text in labels] if beam == 1 else list(zip(labels, found.sequences_scores.tolist()))


def compare_texts(penstock, checkpoint, model, folder, rng, prompt):
    """Texts of sounds of unequal lengths, greedy and of beams."""
    files = [folder / f"{i}.wav" for i in range(3)]
    sounds = [save_sound(file, rng.randint(8000, 20000), rng) for file in files]  # positions end before penstock does
    extractor, tokenizer = AutoFeatureExtractor.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    decoder = getattr(model.config, "decoder_config", model.config)
    positions = getattr(decoder, "max_target_positions", getattr(decoder, "max_position_embeddings", None))
    exact, best = copy.deepcopy(model).double().eval(), []
    for beam, penalty in ((1, None), (3, 1.0), (4, rng.choice([0.0, 2.0, -1.5]))):
        options = [] if beam == 1 else ["--beam", str(beam), "--nbest", str(beam), "--length-penalty", str(penalty)]
        lines = [json.loads(line) for line in run(penstock, "transcribe", checkpoint, *files, "--json", *options).splitlines()]
        for line, sound in zip(lines, sounds):
            ours = [(line["text"], None)] if beam == 1 else [(one["text"], one["score"]) for one in line["nbest"]]
            with torch.no_grad():
                theirs = texts_of(exact, inputs_of(extractor, sound), prompt, positions - len(prompt), beam, penalty)
            expect_same_texts(ours, theirs, tokenizer)
        best.append([line["text"] for line in lines])
    return best


def expect_same_texts(ours, theirs, tokenizer):
    """Compares texts by their words, and scores, of which penstock's are of FP32 logits."""
    assert len(ours) == len(theirs), (ours, theirs)
    for (text, score), (labels, exact) in zip(ours, theirs):
        assert text.split() == tokenizer.decode(labels, skip_special_tokens=True).split(), (ours, theirs)
        assert exact is None or abs(score - exact) <= 1e-4 * max(1, abs(exact)), (ours, theirs)


def round_trip(penstock, kind, output, seed):
    rng = random.Random(seed)
    torch.manual_seed(seed)
    folder, checkpoint, exported = (output / f"{kind}-{seed}{part}" for part in ("", "-checkpoint", "-exported"))
    folder.mkdir()
    model = SAVERS[kind](folder, rng)
    tokenizer, texts = AutoTokenizer.from_pretrained(folder), []
    usual = {row for token, row in tokenizer.get_vocab().items() if token.isalpha() and (token.isascii() or "whisper" not in kind)}
    spread(model, usual)
    suppress(model, {row for row in usual if row < model.config.vocab_size}, rng)
    save(model, folder, rng)
    leave_out(folder, rng)
    for language in (None, "el") if kind != "whisper_plain" else (None,):
        imported = checkpoint.with_name(f"{checkpoint.name}-{language}")
        run(penstock, "import", folder, "-o", imported, *(["--language", language] if language else []))
        prompt = tokenizer.convert_tokens_to_ids(PROMPTS[kind](language or "en"))
        texts += compare_texts(penstock, imported, model, folder, rng, prompt)
    assert any(any(of_search) for of_search in texts), texts
    compare_gradients(penstock, imported, model, folder, rng, loss_after(prompt), rows=model.config.vocab_size,
                      keys=["decoder.dropout=0", "data.micro_batch_seconds=200"])
    run(penstock, "export", imported, "-o", exported)
    expect_same_model(model, folder, exported)
    for file in ("tokenizer.json", "generation_config.json"):
        assert (folder / file).read_text() == (exported / file).read_text(), file


def trained_here(penstock, kind, output, seed):
    """Models without an import, with files of penstock's alone."""
    rng, folder = random.Random(seed), output / f"anew-{kind}-{seed}"
    folder.mkdir()
    trained, exported, files = folder / "trained", folder / "exported", [folder / f"{i}.wav" for i in range(2)]
    sounds = [save_sound(file, rng.randint(12000, 20000), rng) for file in files]
    (folder / "train.jsonl").write_text("".join(
        json.dumps({"audio_filepath": file.name, "duration": len(sound) / 16000, "text": text}) + "\n"
        for file, sound, text in zip(files, sounds, ("bad cab", "ace"))))
    mels = 80 if kind == "whisper" else 16
    run(penstock, "train", f"model.base={BASES[kind]}", "model.classes=0", "model.width=16", "model.heads=2", "model.layers=1",
        *(["model.inner=24"] if kind == "whisper" else ["model.kernel=5", "model.channels=4"]), f"model.features={mels}",
        f"features.mels={mels}", f"decoder.width={12 if kind == 'cohere' else 16}", "decoder.heads=2", "decoder.layers=1",
        "decoder.inner=20", "decoder.max_positions=9", "decoder.prompt=[8]", "decoder.bos=7", "text.alphabet= abcde\u03b1\u03b2",
        f"data.train={folder / 'train.jsonl'}", "data.micro_batches=1", "data.micro_batch_seconds=100",
        f"trainer.output={trained}", "trainer.steps=12",
        "optimizer.learning_rate=0.02", "lr_schedule.warmup=1")
    run(penstock, "export", trained, "-o", exported)
    model, info = CLASSES[kind].from_pretrained(exported, output_loading_info=True)
    assert not any(info.values()), info
    assert model.generation_config.decoder_start_token_id == 8 and model.config.eos_token_id == 0, model.generation_config
    compare_texts(penstock, trained, model, exported, rng, [8, 7])


if __name__ == "__main__":
    penstock, kind, output, *seeds = sys.argv[1:]
    for seed in seeds or range(4):
        if kind.startswith("anew_"):
            trained_here(penstock, kind.removeprefix("anew_"), Path(output), int(seed))
        else:
            round_trip(penstock, kind, Path(output), int(seed))
        print(f"{kind} {seed}: equal")
