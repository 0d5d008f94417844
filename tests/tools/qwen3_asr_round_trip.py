#!/usr/bin/env python3
"""Random small Qwen3ASRForConditionalGeneration through `penstock import` and `penstock export`, with a language in the prompt and
without: losses, gradients and greedy texts are those of transformers, and the export is equal to the byte.

  qwen3_asr_round_trip.py PENSTOCK FOLDER [SEED...]
"""
import copy
import json
import random
import sys
from pathlib import Path

import torch
from transformers import AutoProcessor, Qwen3ASRConfig, Qwen3ASRFeatureExtractor, Qwen3ASRForConditionalGeneration, Qwen3ASRProcessor

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "golden"))
from cases.qwen3_asr_folder import TEMPLATE, tokenizer
from round_trip import compare_gradients, expect_same_model, in_double, run, save, save_sound

LANGUAGES = {"English": "en", "Chinese": "zh", "Cantonese": "yue"}


def save_qwen3_asr(folder, rng):
    """Some rows of the head have no token, or some tokens have no row. Optional settings are missing by chance."""
    pairs = [("e", "n"), ("Ġ", "t"), ("Ġ", "E"), ("t", "h"), ("Ġt", "h"), ("\u00d0", "\u00b5")]
    text = tokenizer(pairs[:rng.randint(0, 5)])
    audio, end = (text.convert_tokens_to_ids(token) for token in ("<|audio_pad|>", "<|im_end|>"))
    unused = rng.randint(0, 1)
    text.add_tokens(["<unused>"] * unused)
    mels, heads, shared = rng.randint(8, 20), rng.randint(1, 4), rng.randint(1, 3)
    width = 2 * rng.randint(4, 12)
    Qwen3ASRProcessor(Qwen3ASRFeatureExtractor(feature_size=mels), text, chat_template=TEMPLATE).save_pretrained(folder)
    model = Qwen3ASRForConditionalGeneration(Qwen3ASRConfig(
        audio_config=dict(
            d_model=heads * 2 * rng.randint(2, 6), encoder_layers=rng.randint(1, 3), encoder_attention_heads=heads,
            encoder_ffn_dim=rng.randint(3, 40), num_mel_bins=mels, output_dim=width, downsample_hidden_size=rng.randint(2, 8),
            n_window_infer=100 * rng.randint(1, 3), dropout=rng.choice([0.0, 0.1])),
        text_config=dict(
            model_type="qwen3", vocab_size=len(text) + rng.randint(-unused, 3), hidden_size=width, intermediate_size=rng.randint(3, 40), num_hidden_layers=rng.randint(1, 3),
            num_attention_heads=shared * rng.randint(1, 3), num_key_value_heads=shared, head_dim=2 * rng.randint(2, 6),
            rms_norm_eps=rng.choice([1e-6, 1e-5]), attention_dropout=rng.choice([0.0, 0.1]),
            rope_parameters=dict(rope_theta=rng.choice([1e4, 1e6]), rope_type="default")),
        audio_token_id=audio, eos_token_id=rng.choice([end, [end]]), pad_token_id=end, tie_word_embeddings=rng.choice([True, False])))
    for name, parameter in model.named_parameters():
        if parameter.dim() == 2 and "audio_tower" not in name:  # so that texts are of several tokens
            std = 1 if name.endswith(("lm_head.weight", "embed_tokens.weight")) else parameter.shape[1] ** -0.5
            torch.nn.init.normal_(parameter, mean=-1 / 16, std=std)  # save() adds 1 / 16 on average
    return model


def leave_out_optional_settings(folder, rng):
    """What transformers takes by default may be missing in config.json."""
    file = folder / "config.json"
    config = json.loads(file.read_text())
    for part, key, value in [("audio_config", "n_window", 50), ("audio_config", "activation_function", "gelu"),
                             ("text_config", "use_sliding_window", False), ("audio_config", "max_position_embeddings", 13)]:
        if rng.random() < 0.5:
            assert config[part].pop(key) == value
    file.write_text(json.dumps(config, indent=2))


def inputs_of(processor, sound, language):
    return in_double(processor.apply_transcription_request([sound], language=language))


def loss_of_text(folder, language):
    """The sum over the text and its end; transformers' own loss is the mean."""
    processor = AutoProcessor.from_pretrained(folder)
    end = processor.tokenizer.convert_tokens_to_ids("<|im_end|>")

    def loss(model, extractor, sound, labels):
        inputs, target = inputs_of(processor, sound, language), torch.cat([labels, torch.tensor([end])])
        known = torch.full_like(inputs["input_ids"], -100)
        inputs["input_ids"] = torch.cat([inputs["input_ids"], target[None]], 1)
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        return model(**inputs, labels=torch.cat([known, target[None]], 1)).loss * len(target)
    return loss


def written_by(model, processor, sound, language):
    """The text of a greedy search, with at most as many tokens as it reads before: penstock's limit."""
    inputs = inputs_of(processor, sound, language)
    start = inputs["input_ids"].shape[1]
    ids = model.generate(**inputs, do_sample=False, max_new_tokens=start)[0, start:]
    return " ".join(processor.tokenizer.decode(ids, skip_special_tokens=True).split())


def compare_texts(penstock, checkpoint, model, folder, rng, language):
    """Greedy texts of sounds of unequal lengths, up to four chunks. Returns whether there are any."""
    files = [folder / f"{i}.wav" for i in range(4)]
    sounds = [save_sound(file, rng.choice([rng.randint(300, 8000), rng.randint(8000, 60000)]), rng) for file in files]
    processor, exact = AutoProcessor.from_pretrained(folder), copy.deepcopy(model).double().eval()
    ours = [line.split("\t")[1] for line in run(penstock, "transcribe", checkpoint, *files).splitlines()]
    with torch.no_grad():
        theirs = [written_by(exact, processor, sound, language) for sound in sounds]
    assert [" ".join(text.split()) for text in ours] == theirs, (ours, theirs)
    return any(ours)


def round_trip(penstock, output, seed):
    rng = random.Random(seed)
    torch.manual_seed(seed)
    folder, checkpoint, exported = (output / f"qwen3_asr-{seed}{part}" for part in ("", "-checkpoint", "-exported"))
    folder.mkdir()
    model = save_qwen3_asr(folder, rng)
    save(model, folder, rng)
    leave_out_optional_settings(folder, rng)
    name, code = rng.choice(list(LANGUAGES.items()))
    wrote = False
    for language in (None, rng.choice([name, code.upper()])):
        imported = checkpoint.with_name(f"{checkpoint.name}-{language}")
        run(penstock, "import", folder, "-o", imported, *(["--language", language] if language else []))
        wrote |= compare_texts(penstock, imported, model, folder, rng, name if language else None)
        compare_gradients(penstock, imported, model, folder, rng, loss_of_text(folder, name if language else None),
                          rows=model.get_output_embeddings().out_features, keys=["decoder.dropout=0"])
    run(penstock, "export", imported, "-o", exported)
    expect_same_model(model, folder, exported)
    return wrote


if __name__ == "__main__":
    program, output, *seeds = sys.argv[1:]
    wrote = False
    for seed in seeds or range(4):
        wrote |= round_trip(program, Path(output), int(seed))
        print(f"qwen3_asr {seed}: equal")
    assert wrote, "all texts are empty, so nothing of them was compared"
