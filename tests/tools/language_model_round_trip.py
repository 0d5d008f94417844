#!/usr/bin/env python3
"""Random small OmniASRForConditionalGeneration through `penstock import` and `penstock export`, with a prompt and without:
losses, gradients, greedy texts and those of beams are those of transformers, and the export is equal to the byte.

  language_model_round_trip.py PENSTOCK FOLDER [SEED...]
"""
import copy
import random
import sys
from pathlib import Path

import torch
from transformers import AutoProcessor, OmniASRConfig, OmniASRFeatureExtractor, OmniASRForConditionalGeneration, OmniASRProcessor

from round_trip import (
    compare_gradients, expect_same_model, in_double, omniasr_encoder, omniasr_pieces, omniasr_tokenizer, run, save, save_sound)

TEMPLATE = ("{% for message in messages %}{% for item in message['content'] %}{% if item['type'] == 'audio' %}<extra_id_1>"
            "{% elif item['type'] == 'language' %}<extra_id_0><|lang:{{ item['language'] }}|>{% endif %}{% endfor %}{% endfor %}<s>")
LANGUAGES = ["auto", "ell_grek", "eng_latn"]


def save_omniasr_llm(folder, rng):
    """Placeholders and languages follow the pieces; some rows have no token."""
    pieces = omniasr_pieces(rng)
    tokens = ["<extra_id_0>", "<extra_id_1>", *(f"<|lang:{language}|>" for language in LANGUAGES)]
    tokenizer, audio = omniasr_tokenizer(pieces, tokens), omniasr_encoder(rng)
    convolutions = {key: audio[key] for key in ("conv_kernel", "conv_stride")}
    OmniASRProcessor(OmniASRFeatureExtractor(), tokenizer, chat_template=TEMPLATE, **convolutions).save_pretrained(folder)
    heads = rng.randint(1, 4)
    model = OmniASRForConditionalGeneration(OmniASRConfig(
        audio_config=audio, audio_token_id=len(pieces) + 1, text_config=dict(
            model_type="llama", vocab_size=len(tokenizer) + rng.randint(0, 3), hidden_size=heads * 2 * rng.randint(2, 6),
            intermediate_size=rng.randint(3, 40), num_hidden_layers=rng.randint(1, 3), num_attention_heads=heads,
            rms_norm_eps=1e-5, attention_dropout=rng.choice([0.0, 0.1]))))
    for name, parameter in model.named_parameters():
        if parameter.dim() == 2 and "audio_tower" not in name:  # so that texts are of several tokens
            std = 1 if name.endswith(("lm_head.weight", "embed_tokens.weight")) else parameter.shape[1] ** -0.5
            torch.nn.init.normal_(parameter, mean=-1 / 16, std=std)  # save() adds 1 / 16 on average
    return model


def language_model_inputs(processor, sound, language):
    """Placeholders of frames, the prompt, and <s>."""
    inputs = processor.apply_transcription_request(sound, language=language, processor_kwargs=dict(sampling_rate=16000, return_tensors="pt"))
    return in_double(inputs)


def language_model_loss(folder, language=None):
    """The sum over the text and </s>; transformers' own loss is the mean."""
    processor = AutoProcessor.from_pretrained(folder)
    return lambda model, extractor, sound, labels: loss_of_text(model, language_model_inputs(processor, sound, language), labels)


def loss_of_text(model, inputs, labels):
    target = torch.cat([labels, torch.tensor([model.config.eos_token_id])])
    known = torch.full_like(inputs["input_ids"], -100)
    inputs["input_ids"] = torch.cat([inputs["input_ids"], target[None]], 1)
    inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
    return model(**inputs, labels=torch.cat([known, target[None]], 1)).loss * len(target)


def written_by(model, processor, sound, language, **search):
    """The text of a greedy search, or of a beam, with at most as many tokens as it reads before: penstock's limit."""
    inputs = language_model_inputs(processor, sound, language)
    start = inputs["input_ids"].shape[1]
    ids = model.generate(**inputs, do_sample=False, max_new_tokens=start, **search)[0, start:]
    return processor.decode(ids, skip_special_tokens=True)


def compare_texts(penstock, checkpoint, model, folder, rng, language=None):
    """Texts of sounds of unequal lengths, greedy and of beams; some of the latter differ."""
    files = [folder / f"{i}.wav" for i in range(4)]
    sounds = [save_sound(file, rng.randint(300, 1500), rng) for file in files]
    processor, exact = AutoProcessor.from_pretrained(folder), copy.deepcopy(model).double().eval()
    found = []
    for beam, penalty in ((1, None), (3, None), (4, rng.choice([0.0, 2.0, -1.5]))):
        options = ["--beam", str(beam)] + ([] if penalty is None else ["--length-penalty", str(penalty)])
        search = {} if beam == 1 else dict(num_beams=beam, length_penalty=1.0 if penalty is None else penalty)
        ours = [line.split("\t")[1] for line in run(penstock, "transcribe", checkpoint, *files, *options).splitlines()]
        with torch.no_grad():
            theirs = [written_by(exact, processor, sound, language, **search) for sound in sounds]
        assert ours == theirs, (options, ours, theirs)
        found.append(ours)
    assert any(any(texts) for texts in found), found
    return sum(texts != found[0] for texts in found[1:])


def round_trip(penstock, output, seed):
    """What logits are to other classes, losses and texts are to this one."""
    rng = random.Random(seed)
    torch.manual_seed(seed)
    folder, checkpoint, exported = (output / f"omniasr_llm-{seed}{part}" for part in ("", "-checkpoint", "-exported"))
    folder.mkdir()
    model = save_omniasr_llm(folder, rng)
    save(model, folder, rng)
    others = 0
    for language in (None, rng.choice(LANGUAGES).upper()):
        imported = checkpoint.with_name(f"{checkpoint.name}-{language}")
        run(penstock, "import", folder, "-o", imported, *(["--language", language] if language else []))
        others += compare_texts(penstock, imported, model, folder, rng, language)
        compare_gradients(penstock, imported, model, folder, rng, language_model_loss(folder, language),
                          rows=model.get_output_embeddings().out_features, keys=["decoder.dropout=0"])
    run(penstock, "export", imported, "-o", exported)
    expect_same_model(model, folder, exported)
    return others


if __name__ == "__main__":
    program, output, *seeds = sys.argv[1:]
    others = 0
    for seed in seeds or range(4):
        others += round_trip(program, Path(output), int(seed))
        print(f"omniasr_llm {seed}: equal")
    assert others > 0, "no beam found other texts than greedy decoding"
