#!/usr/bin/env python3
"""Random small models of transformers through `penstock import` and `penstock export`: equal to the byte, and loaded
again without a warning. Between them, logits of `penstock transcribe` for sounds of unequal lengths, and the gradients by which
a step of `penstock train` changes the weights: those of transformers.

  round_trip.py PENSTOCK KIND FOLDER [SEED...]

KIND is wav2vec2 (norms of large models, and a tokenizer of as many tokens as the head has rows), wav2vec2_base or hubert
(norms by chance, the defaults of transformers among them, with its default processor), wav2vec2_letters (a head without rows
for <s> and </s>, which the default tokenizer adds), mms (adapters, and a vocabulary for each of two languages), omniasr, parakeet,
parakeet_rnnt, parakeet_tdt (transducers, of which gradients alone are compared) or w2v_bert; mms_language (mms with --language);
anew_rnnt or anew_tdt (transducers that penstock trains to know two texts by heart, and that transformers transcribes with); or
pretrained (Wav2Vec2ForPreTraining, Wav2Vec2Model, HubertModel or Wav2Vec2BertModel, which get a new head).
"""
import copy
import json
import math
import random
import struct
import subprocess
import sys
import wave
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import (
    AutoFeatureExtractor, AutoProcessor, AutoTokenizer, HubertConfig, HubertForCTC, HubertModel, OmniASRCTCConfig, OmniASRCTCProcessor, OmniASRFeatureExtractor,
    OmniASRForCTC, ParakeetCTCConfig, ParakeetEncoderConfig, ParakeetFeatureExtractor, ParakeetForCTC, ParakeetForRNNT, ParakeetForTDT,
    ParakeetRNNTConfig, ParakeetTDTConfig, ParakeetTokenizer, SeamlessM4TFeatureExtractor,
    Wav2Vec2BertConfig, Wav2Vec2BertForCTC, Wav2Vec2BertModel, Wav2Vec2BertProcessor, Wav2Vec2Config, Wav2Vec2CTCTokenizer,
    Wav2Vec2FeatureExtractor, Wav2Vec2ForCTC, Wav2Vec2ForPreTraining, Wav2Vec2Model, Wav2Vec2Processor)
from transformers.loss.loss_tdt import tdt_loss


def sizes_on_raw_audio(rng, labels, blank):
    """What Wav2Vec2Config and HubertConfig both take."""
    heads, groups, convolutions = rng.randint(1, 4), rng.choice([1, 2]), rng.randint(2, 4)
    channels = rng.randint(8, 16)  # a norm over 3 channels makes 1e-4 of rounding in FP32
    return dict(
        vocab_size=labels, hidden_size=heads * groups * 2 * rng.randint(1, 4), num_hidden_layers=rng.randint(1, 3),
        num_attention_heads=heads, intermediate_size=rng.randint(3, 40), conv_dim=[channels] * convolutions,
        conv_kernel=[rng.randint(2, 6) for _ in range(convolutions)],
        conv_stride=[rng.randint(1, 3) for _ in range(convolutions)], num_conv_pos_embeddings=rng.randint(3, 9),
        num_conv_pos_embedding_groups=groups, pad_token_id=blank, mask_time_prob=rng.choice([0.0, 0.05]))


def norms_on_raw_audio(rng):
    """The defaults, those of large models, or any others."""
    large = dict(feat_extract_norm="layer", conv_bias=True, do_stable_layer_norm=True)
    mixed = dict(feat_extract_norm=rng.choice(["group", "layer"]), conv_bias=rng.choice([True, False]),
                 do_stable_layer_norm=rng.choice([True, False]))
    return rng.choice([{}, large, mixed])


def save_default_processor(folder, letters):
    """Returns the tokens that its tokenizer knows: <s> and </s> as well."""
    tokens = ["<pad>", "<unk>", "|"] + [chr(0x3b1 + i) for i in range(letters)]
    (folder / "vocab.json").write_text(json.dumps({t: i for i, t in enumerate(tokens)}))
    tokenizer = Wav2Vec2CTCTokenizer(folder / "vocab.json")
    Wav2Vec2Processor(Wav2Vec2FeatureExtractor(), tokenizer).save_pretrained(folder)
    return len(tokenizer)


def save_wav2vec2_base(folder, rng):
    labels = save_default_processor(folder, rng.randint(3, 20))
    return Wav2Vec2ForCTC(Wav2Vec2Config(**sizes_on_raw_audio(rng, labels, 0), **norms_on_raw_audio(rng)))


def save_hubert(folder, rng):
    labels = save_default_processor(folder, rng.randint(3, 20))
    return HubertForCTC(HubertConfig(**sizes_on_raw_audio(rng, labels, 0), **norms_on_raw_audio(rng),
                                     feat_proj_layer_norm=rng.choice([True, False])))


def save_wav2vec2_letters(folder, rng):
    tokens = save_default_processor(folder, rng.randint(3, 20))
    return Wav2Vec2ForCTC(Wav2Vec2Config(**sizes_on_raw_audio(rng, tokens - 2, 0)))


def save_mms(folder, rng):
    special = ["<pad>", "<s>", "</s>", "<unk>", "|"]
    tokens = special + [chr(0x3b1 + i) for i in range(rng.randint(3, 20))]
    english = special + [chr(ord("a") + i) for i in range(rng.randint(3, 20))]
    (folder / "vocab.json").write_text(json.dumps({language: {token: row for row, token in enumerate(those)}
                                                   for language, those in (("ell", tokens), ("eng", english))}))
    tokenizer = Wav2Vec2CTCTokenizer(folder / "vocab.json", target_lang="ell")
    Wav2Vec2Processor(Wav2Vec2FeatureExtractor(), tokenizer).save_pretrained(folder)
    return Wav2Vec2ForCTC(Wav2Vec2Config(**sizes_on_raw_audio(rng, len(tokens), 0), do_stable_layer_norm=True,
                                         feat_extract_norm=rng.choice(["group", "layer"]), adapter_attn_dim=rng.randint(1, 9)))


def omniasr_tokenizer(pieces, more=()):
    """With pieces as Omnilingual ASR's, special ones first, and more special tokens after them."""
    tokenizer = Tokenizer(models.Unigram([(piece, -float(i)) for i, piece in enumerate(pieces)], unk_id=3))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=False)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always", split=False)
    special = dict(zip(("bos_token", "pad_token", "eos_token", "unk_token"), pieces))
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in [*special.values(), *more]])
    return ParakeetTokenizer(tokenizer_object=tokenizer, **special)


def omniasr_pieces(rng):
    return ["<s>", "<pad>", "</s>", "<unk>", "▁"] + [chr(0x3b1 + i) for i in range(rng.randint(3, 20))]


def omniasr_encoder(rng):
    sizes = sizes_on_raw_audio(rng, 0, 0)
    audio = {key: sizes[key] for key in OmniASRCTCConfig().audio_config.to_dict() if key in sizes}
    audio["num_conv_pos_embeddings"] += audio["num_conv_pos_embeddings"] % 2  # it computes even ones alone
    return {"model_type": "omniasr_audio"} | audio


def save_omniasr(folder, rng):
    """<s> is the blank, and the pad token is a label."""
    pieces = omniasr_pieces(rng)
    OmniASRCTCProcessor(OmniASRFeatureExtractor(), omniasr_tokenizer(pieces)).save_pretrained(folder)
    return OmniASRForCTC(OmniASRCTCConfig(vocab_size=len(pieces), audio_config=omniasr_encoder(rng)))


def save_wav2vec2(folder, rng):
    labels = rng.randint(5, 40)
    blank = rng.randrange(labels)
    model = Wav2Vec2ForCTC(Wav2Vec2Config(**sizes_on_raw_audio(rng, labels, blank), feat_extract_norm="layer",
                                          conv_bias=True, do_stable_layer_norm=True))
    tokens = ["|", "<unk>"] + [chr(0x3b1 + i) for i in range(labels - 3)]
    rng.shuffle(tokens)
    tokens.insert(blank, "<pad>")
    (folder / "vocab.json").write_text(json.dumps({t: i for i, t in enumerate(tokens)}))
    Wav2Vec2CTCTokenizer(folder / "vocab.json", bos_token=None, eos_token=None).save_pretrained(folder)
    Wav2Vec2FeatureExtractor(return_attention_mask=True).save_pretrained(folder)
    return model


def fast_conformer(rng):
    heads = rng.randint(1, 4)
    return ParakeetEncoderConfig(
        hidden_size=heads * 2 * rng.randint(1, 5), num_hidden_layers=rng.randint(1, 3), num_attention_heads=heads,
        intermediate_size=rng.randint(3, 40), conv_kernel_size=2 * rng.randint(1, 5) + 1,
        subsampling_conv_channels=rng.randint(2, 9), num_mel_bins=8 * rng.randint(1, 6), scale_input=rng.choice([True, False]),
        attention_bias=rng.choice([True, False]), convolution_bias=rng.choice([True, False]))


def save_parakeet_processor(folder, labels, mels, blank):
    pieces = ["<unk>", "▁"] + [chr(0x3b1 + i) for i in range(labels - 3)]
    tokenizer = Tokenizer(models.BPE({p: i for i, p in enumerate(pieces)}, [], unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.decoder = decoders.Replace("▁", " ")
    tokenizer.add_special_tokens([AddedToken(blank, normalized=False, special=True)])
    ParakeetTokenizer(tokenizer_object=tokenizer, pad_token=blank).save_pretrained(folder)
    ParakeetFeatureExtractor(feature_size=mels).save_pretrained(folder)


def save_parakeet(folder, rng):
    labels, encoder = rng.randint(5, 40), fast_conformer(rng)
    save_parakeet_processor(folder, labels, encoder.num_mel_bins, "<pad>")
    return ParakeetForCTC(ParakeetCTCConfig(vocab_size=labels, pad_token_id=labels - 1, encoder_config=encoder))


def sizes_of_transducer(folder, rng):
    labels, encoder = rng.randint(5, 40), fast_conformer(rng)
    save_parakeet_processor(folder, labels, encoder.num_mel_bins, "<blank>")
    return dict(vocab_size=labels, blank_token_id=labels - 1, pad_token_id=labels - 1, encoder_config=encoder,
                decoder_hidden_size=rng.randint(3, 20), num_decoder_layers=rng.randint(1, 3), hidden_act=rng.choice(["relu", "tanh"]))


def save_parakeet_rnnt(folder, rng):
    return ParakeetForRNNT(ParakeetRNNTConfig(**sizes_of_transducer(folder, rng)))


def save_parakeet_tdt(folder, rng):
    durations = rng.choice([[0, 1, 2, 3, 4], [0, 1], [0, 1, 3]])  # where no path leads, gradients of transformers are NaN
    return ParakeetForTDT(ParakeetTDTConfig(**sizes_of_transducer(folder, rng), durations=durations))


def sizes_of_w2v_bert(rng, labels):
    heads = rng.randint(1, 4)
    return Wav2Vec2BertConfig(
        vocab_size=labels, hidden_size=heads * 4 * rng.randint(1, 4), num_hidden_layers=rng.randint(1, 3), num_attention_heads=heads,
        intermediate_size=rng.randint(3, 40), conv_depthwise_kernel_size=2 * rng.randint(1, 5) + 1,
        left_max_position_embeddings=rng.randint(0, 30), right_max_position_embeddings=rng.randint(0, 30),
        mask_time_prob=rng.choice([0.0, 0.05]))


def save_w2v_bert(folder, rng):
    labels = save_default_processor(folder, rng.randint(3, 20))
    (folder / "processor_config.json").unlink()
    Wav2Vec2BertProcessor(SeamlessM4TFeatureExtractor(), AutoTokenizer.from_pretrained(folder)).save_pretrained(folder)
    return Wav2Vec2BertForCTC(sizes_of_w2v_bert(rng, labels))


def save_pretrained_encoder(folder, rng):
    kind, config = rng.choice([(Wav2Vec2ForPreTraining, Wav2Vec2Config), (Wav2Vec2Model, Wav2Vec2Config), (HubertModel, HubertConfig),
                               (Wav2Vec2BertModel, None)])
    if kind is Wav2Vec2BertModel:
        SeamlessM4TFeatureExtractor().save_pretrained(folder)
        return kind(sizes_of_w2v_bert(rng, None))
    Wav2Vec2FeatureExtractor().save_pretrained(folder)
    return kind(config(**sizes_on_raw_audio(rng, 32, 0), **norms_on_raw_audio(rng)))


SAVERS = {"wav2vec2": save_wav2vec2, "wav2vec2_base": save_wav2vec2_base, "wav2vec2_letters": save_wav2vec2_letters,
          "hubert": save_hubert, "mms": save_mms, "omniasr": save_omniasr, "parakeet": save_parakeet,
          "parakeet_rnnt": save_parakeet_rnnt, "parakeet_tdt": save_parakeet_tdt, "w2v_bert": save_w2v_bert}


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def save_sound(file, samples, rng):
    """White noise, 16 bits, 16 kHz. Returns what transformers' feature extractors take."""
    numbers = [rng.randint(-9000, 9000) for _ in range(samples)]
    with wave.open(str(file), "wb") as sound:
        sound.setparams((1, 2, 16000, samples, "NONE", ""))
        sound.writeframes(struct.pack(f"<{samples}h", *numbers))
    return np.array(numbers, np.float32) / 32768


def in_double(inputs):
    return {key: x.double() if x.is_floating_point() else x for key, x in inputs.items()}


def logits_of(model, extractor, sound):
    """Without the frame that comes only of what the extractors of w2v-BERT and Parakeet pad a sound with, and mask."""
    inputs = in_double(extractor(sound, sampling_rate=16000, return_tensors="pt"))
    logits = model(**inputs).logits
    frames = inputs.get("attention_mask", torch.empty(0)).sum(-1)
    if isinstance(model, ParakeetForCTC):
        frames = model._get_subsampling_output_length(frames)
    elif not isinstance(model, Wav2Vec2BertForCTC):
        return logits
    return logits[:, :int(frames)]


def compare_logits(penstock, checkpoint, model, folder, rng):
    files = [folder / f"{i}.wav" for i in range(3)]
    sounds = [save_sound(file, rng.randint(4000, 20000), rng) for file in files]
    run(penstock, "transcribe", checkpoint, *files, "--logits", folder / "logits.safetensors")
    blank = getattr(model.config, "blank_token_id", model.config.pad_token_id)
    rows = [blank] + [row for row in range(model.config.vocab_size) if row != blank]  # as penstock has them
    extractor = AutoFeatureExtractor.from_pretrained(folder)
    logits, exact = load_file(folder / "logits.safetensors"), copy.deepcopy(model).double()
    assert len(logits) == len(sounds), logits.keys()
    for i, (_, ours) in enumerate(sorted(logits.items())):
        with torch.no_grad():
            theirs = logits_of(exact.eval(), extractor, sounds[i])[0][:, rows]
        assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
        distance = ((ours - theirs).abs().max() / theirs.abs().max()).item()
        assert distance <= 1e-4, f"logits of sound {i} are off by {distance}"


def ctc_loss(model, extractor, sound, labels):
    logits = logits_of(model, extractor, sound)
    blank = getattr(model.config, "blank_token_id", model.config.pad_token_id)
    return torch.nn.functional.ctc_loss(logits.log_softmax(-1).transpose(0, 1), labels[None], torch.tensor([logits.shape[1]]),
                                        torch.tensor([len(labels)]), blank, reduction="sum")


def rnnt_loss(log_p, labels, blank):
    """-log of the sum over all alignments, cell by cell (Graves 2012)."""
    alpha = {(0, 0): log_p.new_zeros(())}
    for t in range(log_p.shape[0]):
        for u in range(len(labels) + 1):
            ways = [alpha[t - 1, u] + log_p[t - 1, u, blank]] if t else []
            ways += [alpha[t, u - 1] + log_p[t, u - 1, labels[u - 1]]] if u else []
            if ways:
                alpha[t, u] = torch.logsumexp(torch.stack(ways), 0)
    return -(alpha[t, u] + log_p[t, u, blank])


def transducer_loss(model, extractor, sound, labels):
    """Undivided, and with the sigma that a recipe of penstock has by default."""
    inputs, blank = in_double(extractor(sound, sampling_rate=16000, return_tensors="pt")), model.config.blank_token_id
    count = int(model._get_subsampling_output_length(inputs["attention_mask"].sum(-1)))
    frames = model.get_audio_features(**inputs).pooler_output[:, :count]
    predicted = model.decoder(torch.cat([torch.tensor([blank]), labels])[None])
    logits = model.joint(decoder_hidden_states=predicted[:, None], encoder_hidden_states=frames[:, :, None])
    if isinstance(model, ParakeetForTDT):
        return tdt_loss(logits[..., :blank + 1], logits[..., blank + 1:], labels[None], torch.tensor([count]),
                        torch.tensor([len(labels)]), blank, model.config.durations, 0.05, "sum")
    return rnnt_loss(logits[0].log_softmax(-1), labels.tolist(), blank)


def their_gradients(model, sounds, texts, folder, loss_of):
    """Of the mean loss of the utterances, each computed alone in FP64; without dropout, but with the batch norms of training."""
    model = copy.deepcopy(model).double()
    extractor, tokenizer = AutoFeatureExtractor.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    model.eval().zero_grad()
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm1d):
            module.train()
    for sound, text in zip(sounds, texts):
        labels = torch.tensor(tokenizer(text, add_special_tokens=False).input_ids)
        (loss_of(model, extractor, sound, labels) / len(texts)).backward()
    return {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}


def loss_of_class(model):
    return transducer_loss if isinstance(model, ParakeetForRNNT) else ctc_loss


def compare_gradients(penstock, checkpoint, model, folder, rng, loss_of=None, rows=None, keys=()):
    """By a step of plain gradient descent: what it takes from each weight. `rows`: those of the head."""
    rate, rows = 16, rows or model.config.vocab_size
    vocabulary = AutoTokenizer.from_pretrained(folder).get_vocab()
    letters = sorted(t for t, row in vocabulary.items() if len(t) == 1 and t.isalpha() and row < rows)
    batch_norm = any(isinstance(module, torch.nn.BatchNorm1d) for module in model.modules())
    files = [folder / f"train-{i}.wav" for i in range(1 if batch_norm else 3)]
    strides = getattr(getattr(model.config, "audio_config", model.config), "conv_stride", None)
    samples = math.prod(strides) if strides else 1280 if batch_norm else 320  # of a frame
    sounds = [save_sound(file, 400 + samples * rng.randint(20, 60), rng) for file in files]
    texts = ["".join(rng.choice(letters) for _ in range(rng.randint(2, 4))) for _ in files]
    (folder / "train.jsonl").write_text("".join(
        json.dumps({"audio_filepath": file.name, "duration": len(sound) / 16000, "text": text}, ensure_ascii=False) + "\n"
        for file, sound, text in zip(files, sounds, texts)))
    trained, exported, recipe = (checkpoint.with_name(f"{checkpoint.name}-{part}") for part in ("trained", "exported", "recipe.toml"))
    recipe.write_text(run(penstock, "info", checkpoint, "--recipe"))
    run(penstock, "train", recipe, f"data.train={folder / 'train.jsonl'}", f"trainer.output={trained}", "trainer.steps=1",
        "data.micro_batches=1", "optimizer.kind=sgd", "optimizer.momentum=0", "optimizer.nesterov=false", "optimizer.weight_decay=0",
        "optimizer.clip_norm=0", f"optimizer.learning_rate={rate}", "model.dropout=0", "model.layer_drop=0",
        *(["model.apply_spec_augment=false"] if "apply_spec_augment" in recipe.read_text() else []),
        *(["model.input_dropout=0"] if batch_norm else []),
        *keys)
    run(penstock, "export", trained, "-o", exported)
    after = dict(type(model).from_pretrained(exported).named_parameters())
    before = dict(model.named_parameters())
    theirs = their_gradients(model, sounds, texts, folder, loss_of or loss_of_class(model))
    largest = max(gradient.abs().max().item() for gradient in theirs.values())
    for name, gradient in theirs.items():
        ours = (before[name] - after[name]).detach() / rate
        distance = (ours - gradient).abs().max().item()
        exact = gradient.abs().max().item()
        # The gradients of biases before a softmax or a batch norm are 0 but for rounding.
        allowed = 1e-3 * exact + 1e-6 * largest if exact > 1e-9 * largest else 1e-4 * largest
        assert distance <= allowed, f"gradient of {name} is off by {distance}"


def save(model, folder, rng):
    for tensor in model.state_dict().values():
        if tensor.is_floating_point():
            tensor.add_(torch.rand_like(tensor) / 8)  # small, so that gradients are not ill-conditioned
    model.save_pretrained(folder, max_shard_size=rng.choice(["3KB", "1GB"]))


def new_head(penstock, output, seed):
    """A model without a head becomes one with a head: transformers computes with it what penstock does."""
    rng = random.Random(seed)
    torch.manual_seed(seed)
    folder, checkpoint, exported = (output / f"pretrained-{seed}{part}" for part in ("", "-checkpoint", "-exported"))
    folder.mkdir()
    encoder = save_pretrained_encoder(folder, rng)
    save(encoder, folder, rng)
    run(penstock, "import", folder, "-o", checkpoint, "text.alphabet= abcdef")
    run(penstock, "export", checkpoint, "-o", exported)
    kind = {HubertModel: HubertForCTC, Wav2Vec2BertModel: Wav2Vec2BertForCTC}.get(type(encoder), Wav2Vec2ForCTC)
    model, info = kind.from_pretrained(exported, output_loading_info=True)
    assert not any(info.values()), info
    theirs, ours = encoder.base_model.state_dict(), model.base_model.state_dict()
    assert theirs.keys() == ours.keys()
    for name, tensor in theirs.items():
        assert torch.equal(tensor, ours[name]), name
    compare_logits(penstock, checkpoint, model, exported, rng)
    compare_gradients(penstock, checkpoint, model, exported, rng)


def other_language(penstock, output, seed):
    """--language: the adapters, head and vocabulary of a language that the folder's model.safetensors is not of."""
    rng = random.Random(seed)
    torch.manual_seed(seed)
    folder, checkpoint, exported = (output / f"mms_language-{seed}{part}" for part in ("", "-checkpoint", "-exported"))
    folder.mkdir()
    model = save_mms(folder, rng)
    save(model, folder, rng)
    tokenizer = Wav2Vec2CTCTokenizer.from_pretrained(folder, target_lang="eng")
    adapters = {name: torch.rand_like(tensor) for name, tensor in model._get_adapters().items()}
    adapters |= {f"lm_head.{name}": torch.rand(tensor.shape) for name, tensor in torch.nn.Linear(
        model.config.hidden_size, len(tokenizer)).state_dict().items()}
    save_file(adapters, folder / "adapter.eng.safetensors", metadata={"format": "pt"})
    theirs = Wav2Vec2ForCTC.from_pretrained(folder, target_lang="eng", ignore_mismatched_sizes=True)
    run(penstock, "import", folder, "-o", checkpoint, "--language", "eng")
    compare_logits(penstock, checkpoint, theirs, folder, rng)
    run(penstock, "export", checkpoint, "-o", exported)
    ours, info = Wav2Vec2ForCTC.from_pretrained(exported, output_loading_info=True)
    assert not any(info.values()), info
    for name, tensor in theirs.state_dict().items():
        assert torch.equal(tensor, ours.state_dict()[name]), name
    found, rows = AutoTokenizer.from_pretrained(exported), list(range(len(tokenizer)))
    assert found.get_vocab() == tokenizer.get_vocab(), (found.get_vocab(), tokenizer.get_vocab())
    assert found.decode(rows, group_tokens=False) == tokenizer.decode(rows, group_tokens=False)
    compare_gradients(penstock, checkpoint, theirs, exported, rng)


def trained_here(penstock, decoder, output, seed):
    """A transducer without an import, with files of penstock's alone."""
    rng, folder = random.Random(seed), output / f"anew-{decoder}-{seed}"
    folder.mkdir()
    texts, trained, exported = ["bad cab", "ace"], folder / "trained", folder / "exported"
    files = [folder / f"{i}.wav" for i in range(len(texts))]
    sounds = [save_sound(file, rng.randint(12000, 20000), rng) for file in files]
    (folder / "train.jsonl").write_text("".join(
        json.dumps({"audio_filepath": file.name, "duration": len(sound) / 16000, "text": text}) + "\n"
        for file, sound, text in zip(files, sounds, texts)))
    run(penstock, "train", "model.base=parakeet-tdt-0.6b", f"model.decoder={decoder}", "model.width=16", "model.heads=2",
        "model.layers=1", "model.kernel=5", "model.channels=4", "model.features=16", "features.mels=16", "decoder.width=16",
        "decoder.joint=16", "decoder.layers=1", "text.alphabet= abcde", f"data.train={folder / 'train.jsonl'}", "data.micro_batches=1",
        f"trainer.output={trained}", "trainer.steps=100", "optimizer.learning_rate=0.02", "lr_schedule.warmup=1")
    run(penstock, "export", trained, "-o", exported)
    model, info = {"rnnt": ParakeetForRNNT, "tdt": ParakeetForTDT}[decoder].from_pretrained(exported, output_loading_info=True)
    assert not any(info.values()), info
    processor = AutoProcessor.from_pretrained(exported)
    sequences = [model.generate(**processor(s, sampling_rate=16000, return_tensors="pt")).sequences[0] for s in sounds]
    theirs = processor.batch_decode(sequences, skip_special_tokens=True)
    ours = [line.split("\t")[1] for line in run(penstock, "transcribe", trained, *files).splitlines()]
    assert theirs == ours and set(ours) <= set(texts), (theirs, ours)  # two sounds of noise may get one text
    batch = processor(sounds, text=texts, sampling_rate=16000, return_tensors="pt")
    assert batch["decoder_input_ids"][1].tolist() == [6, 1, 3, 5, 6, 6, 6, 6], batch["decoder_input_ids"]


def round_trip(penstock, kind, output, seed):
    rng = random.Random(seed)
    torch.manual_seed(seed)
    folder, checkpoint, exported = (output / f"{kind}-{seed}{part}" for part in ("", "-checkpoint", "-exported"))
    folder.mkdir()
    model = SAVERS[kind](folder, rng)
    save(model, folder, rng)
    run(penstock, "import", folder, "-o", checkpoint)
    if not isinstance(model, ParakeetForRNNT):
        compare_logits(penstock, checkpoint, model, folder, rng)
    compare_gradients(penstock, checkpoint, model, folder, rng)
    run(penstock, "export", checkpoint, "-o", exported)
    expect_same_model(model, folder, exported)


def expect_same_model(model, folder, exported):
    loaded, info = type(model).from_pretrained(exported, output_loading_info=True)
    assert not any(info.values()), info
    expected, found = model.state_dict(), loaded.state_dict()
    assert expected.keys() == found.keys()
    for name, tensor in expected.items():
        assert torch.equal(tensor, found[name]), name
    settings = [json.loads((where / "config.json").read_text()) for where in (folder, exported)]
    assert settings[0] == settings[1], settings


if __name__ == "__main__":
    penstock, kind, output, *seeds = sys.argv[1:]
    for seed in seeds or range(4):
        if kind == "pretrained":
            new_head(penstock, Path(output), int(seed))
        elif kind.startswith("anew_"):
            trained_here(penstock, kind.removeprefix("anew_"), Path(output), int(seed))
        elif kind == "mms_language":
            other_language(penstock, Path(output), int(seed))
        else:
            round_trip(penstock, kind, Path(output), int(seed))
        print(f"{kind} {seed}: equal")
