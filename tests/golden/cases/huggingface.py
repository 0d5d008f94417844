"""Tiny models as transformers saves them, with their logits for a ragged batch: folders beside this script.

NAME/ is what save_pretrained() writes of model and processor; NAME/logits.safetensors holds "x", the real frames of
one utterance after the other, their "lengths", the "output_lengths" and the "logits" of the frames that come out.
mms_for_ctc/ holds two languages, as its repositories do: logits_rus.safetensors are those with adapter.rus.safetensors.
Transducers have the frames that enter the joint network, "encoded", instead of logits, and the "losses" of "labels", of which
0 is penstock's blank.
"""
import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import (
    HubertConfig, HubertForCTC, OmniASRConfig, OmniASRCTCConfig, OmniASRCTCProcessor, OmniASRFeatureExtractor,
    OmniASRForConditionalGeneration, OmniASRForCTC, OmniASRProcessor, ParakeetCTCConfig, ParakeetEncoderConfig,
    ParakeetFeatureExtractor, ParakeetForCTC, ParakeetForRNNT, ParakeetForTDT, ParakeetProcessor, ParakeetRNNTConfig,
    ParakeetTDTConfig, ParakeetTokenizer, SeamlessM4TFeatureExtractor, Wav2Vec2BertConfig, Wav2Vec2BertForCTC,
    Wav2Vec2BertProcessor, Wav2Vec2Config, Wav2Vec2CTCTokenizer, Wav2Vec2FeatureExtractor, Wav2Vec2ForCTC, Wav2Vec2ForPreTraining,
    Wav2Vec2Processor)
from transformers.loss.loss_tdt import tdt_loss

from cases.transducer import rnnt_loss

FOLDER = Path(__file__).parent.parent


def scrambled(model):
    """Numbers that no initialisation gives, so that one put in another's place shows."""
    generator = torch.Generator().manual_seed(5)
    for name, tensor in model.state_dict().items():
        if tensor.is_floating_point():
            noise = torch.randn(tensor.shape, generator=generator) * 0.3
            tensor.copy_(noise.abs() + 0.5 if name.endswith(("running_var", "original0")) else tensor + noise)
        else:
            tensor.fill_(3)
    return model.eval()


def save_logits_alone(folder, model, utterances):
    """Of a model whose norms are over an utterance's frames, of which padding would be some."""
    with torch.no_grad():
        rows = [model(utterance[None]).logits[0] for utterance in utterances]
    save_file({"x": torch.cat(utterances, -1).reshape(-1, 1), "lengths": torch.tensor([u.numel() for u in utterances]),
               "output_lengths": torch.tensor([len(row) for row in rows]), "logits": torch.cat(rows).contiguous()},
              folder / "logits.safetensors")


def save_logits(folder, model, utterances, padded, mask, output_lengths):
    with torch.no_grad():
        batch = model(padded, attention_mask=mask).logits
        rows = [batch[i, :n] for i, n in enumerate(output_lengths)]
        for utterance, row in zip(utterances, rows):  # padding has no say
            alone = model(utterance[None], attention_mask=torch.ones(1, len(utterance), dtype=torch.long)).logits[0]
            assert (alone - row).abs().max() < 1e-4 * row.abs().max(), (alone - row).abs().max()
    x = torch.cat([u.reshape(len(u), -1) for u in utterances])
    save_file({"x": x, "lengths": torch.tensor([len(u) for u in utterances]),
               "output_lengths": torch.tensor(output_lengths), "logits": torch.cat(rows).contiguous()},
              folder / "logits.safetensors")


def fresh(name):
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def wav2vec2():
    folder = fresh("wav2vec2_for_ctc")
    config = Wav2Vec2Config(
        vocab_size=9, hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20,
        conv_dim=[5] * 4, conv_kernel=[10, 3, 3, 2], conv_stride=[5, 2, 2, 2], feat_extract_norm="layer",
        conv_bias=True, do_stable_layer_norm=True, num_conv_pos_embeddings=6, num_conv_pos_embedding_groups=2,
        pad_token_id=2)
    model = scrambled(Wav2Vec2ForCTC(config))
    model.save_pretrained(folder)
    vocabulary = {"|": 0, "<unk>": 1, "<pad>": 2, "A": 3, "'": 4, "B": 5, "É": 6, "C": 7, "CH": 8}
    (folder / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False))
    Wav2Vec2CTCTokenizer(folder / "vocab.json", bos_token=None, eos_token=None).save_pretrained(folder)
    Wav2Vec2FeatureExtractor(return_attention_mask=True).save_pretrained(folder)
    utterances = [torch.randn(n) for n in (523, 311, 700)]
    padded = torch.nn.utils.rnn.pad_sequence(utterances, batch_first=True)
    mask = torch.arange(padded.shape[1])[None] < torch.tensor([[len(u)] for u in utterances])
    lengths = model._get_feat_extract_output_lengths(mask.sum(-1)).tolist()
    save_logits(folder, model, utterances, padded, mask.long(), lengths)


def hubert():
    """With the norms, the tokenizer and the processor that transformers takes by default."""
    folder = fresh("hubert_for_ctc")
    vocabulary = {"<pad>": 0, "<unk>": 1, "|": 2, "A": 3, "'": 4, "B": 5}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    tokenizer = Wav2Vec2CTCTokenizer(folder / "vocab.json")
    model = scrambled(HubertForCTC(HubertConfig(
        vocab_size=len(tokenizer), hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20,
        conv_dim=[5] * 4, conv_kernel=[10, 3, 3, 2], conv_stride=[5, 2, 2, 2], num_conv_pos_embeddings=6,
        num_conv_pos_embedding_groups=2)))
    model.save_pretrained(folder)
    Wav2Vec2Processor(Wav2Vec2FeatureExtractor(), tokenizer).save_pretrained(folder)
    save_logits_alone(folder, model, [torch.randn(n) for n in (523, 311, 700)])


def wav2vec2_pretrained():
    """Without a head, as XLS-R and MMS were published: there are no labels, and a quantiser."""
    folder = fresh("wav2vec2_for_pretraining")
    model = scrambled(Wav2Vec2ForPreTraining(Wav2Vec2Config(
        hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=12, conv_dim=[5] * 3, conv_kernel=[10, 3, 2],
        conv_stride=[5, 2, 2], num_conv_pos_embeddings=4, num_conv_pos_embedding_groups=2, num_codevectors_per_group=3,
        codevector_dim=4, proj_codevector_dim=4)))
    model.save_pretrained(folder)
    Wav2Vec2FeatureExtractor().save_pretrained(folder)


def mms():
    """model.safetensors, config.json and the tokenizer are of `eng`; `rus` has another number of letters."""
    folder = fresh("mms_for_ctc")
    special = ["<pad>", "<s>", "</s>", "<unk>", "|"]
    vocabularies = {language: {token: row for row, token in enumerate([*special, *letters])}
                    for language, letters in (("eng", "ab'"), ("rus", "абвгд"))}
    (folder / "vocab.json").write_text(json.dumps(vocabularies))
    tokenizer = Wav2Vec2CTCTokenizer(folder / "vocab.json", target_lang="eng")
    model = Wav2Vec2ForCTC(Wav2Vec2Config(
        vocab_size=len(tokenizer), hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20,
        conv_dim=[5] * 4, conv_kernel=[10, 3, 3, 2], conv_stride=[5, 2, 2, 2], feat_extract_norm="layer", conv_bias=True,
        do_stable_layer_norm=True, num_conv_pos_embeddings=6, num_conv_pos_embedding_groups=2, adapter_attn_dim=4))
    scrambled(model).save_pretrained(folder)
    Wav2Vec2Processor(Wav2Vec2FeatureExtractor(), tokenizer).save_pretrained(folder)
    utterances = [torch.randn(n) for n in (523, 311, 700)]
    save_logits_alone(folder, model, utterances)
    save_file(model._get_adapters(), folder / "adapter.eng.safetensors", metadata={"format": "pt"})
    other = {name: torch.randn(tensor.shape) for name, tensor in model._get_adapters().items()}
    other |= {"lm_head.weight": torch.randn(10, 12), "lm_head.bias": torch.randn(10)}
    save_file(other, folder / "adapter.rus.safetensors", metadata={"format": "pt"})
    model = Wav2Vec2ForCTC.from_pretrained(folder, target_lang="rus", ignore_mismatched_sizes=True).eval()
    (folder / "logits.safetensors").rename(folder / "kept")
    save_logits_alone(folder, model, utterances)
    (folder / "logits.safetensors").rename(folder / "logits_rus.safetensors")
    (folder / "kept").rename(folder / "logits.safetensors")


def omniasr_tokenizer(letters, more=()):
    """Pieces as Omnilingual ASR's SentencePiece models have them: four special ones, the space, and letters. <s> is the blank.
    Further special tokens follow."""
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁", *letters]
    tokenizer = Tokenizer(models.Unigram([(piece, -float(i)) for i, piece in enumerate(pieces)], unk_id=3))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=False)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always", split=False)
    special = dict(zip(("bos_token", "pad_token", "eos_token", "unk_token"), pieces))
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in [*special.values(), *more]])
    return ParakeetTokenizer(tokenizer_object=tokenizer, **special)


OMNIASR_ENCODER = dict(
    model_type="omniasr_audio", hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20, conv_dim=[5] * 4,
    conv_kernel=[10, 3, 3, 2], conv_stride=[5, 2, 2, 2], num_conv_pos_embeddings=6, num_conv_pos_embedding_groups=2)


def omniasr():
    folder = fresh("omniasr_for_ctc")
    tokenizer = omniasr_tokenizer("abc'é")
    model = scrambled(OmniASRForCTC(OmniASRCTCConfig(vocab_size=len(tokenizer), audio_config=OMNIASR_ENCODER)))
    model.save_pretrained(folder)
    OmniASRCTCProcessor(OmniASRFeatureExtractor(), tokenizer).save_pretrained(folder)
    save_logits_alone(folder, model, [torch.randn(1, n) for n in (523, 311, 700)])


def language_model_losses(model, utterances, labels, prompt):
    """Of utterances alone: the sums over the text and </s>. Returns the numbers of frames too."""
    config, losses, lengths = model.config, [], []
    for sound, ids in zip(utterances, labels):
        frames = int(model.model.audio_tower._get_subsampling_output_length(torch.tensor(sound.shape[1])))
        known, text = [config.audio_token_id] * frames + prompt + [config.bos_token_id], [*ids, config.eos_token_id]
        loss = model(input_ids=torch.tensor([known + text]), input_values=sound[None],
                     labels=torch.tensor([[-100] * len(known) + text])).loss
        losses.append(loss * len(text))
        lengths.append(frames)
    return torch.stack(losses), torch.tensor(lengths)


OMNIASR_TEMPLATE = (
    "{% for message in messages %}{% for item in message['content'] %}{% if item['type'] == 'audio' %}<extra_id_1>"
    "{% elif item['type'] == 'language' %}<extra_id_0><|lang:{{ item['language'] }}|>{% endif %}{% endfor %}{% endfor %}<s>")


def omniasr_language_model():
    """Two rows have no token. The losses are with the prompt of a language, and without one."""
    torch.manual_seed(11)
    folder = fresh("omniasr_for_conditional_generation")
    tokenizer = omniasr_tokenizer("abc'é", ["<extra_id_0>", "<extra_id_1>", "<|lang:auto|>", "<|lang:eng_latn|>"])
    model = scrambled(OmniASRForConditionalGeneration(OmniASRConfig(
        audio_config=OMNIASR_ENCODER, audio_token_id=11, text_config=dict(
            model_type="llama", vocab_size=16, hidden_size=24, intermediate_size=10, num_hidden_layers=2, num_attention_heads=3,
            rms_norm_eps=1e-5))))
    model.save_pretrained(folder)
    OmniASRProcessor(OmniASRFeatureExtractor(), tokenizer, chat_template=OMNIASR_TEMPLATE, conv_kernel=OMNIASR_ENCODER["conv_kernel"],
                     conv_stride=OMNIASR_ENCODER["conv_stride"]).save_pretrained(folder)
    utterances, labels = [torch.randn(1, n) for n in (523, 311, 700)], [[5, 4, 9, 9], [], [8, 5, 6, 3, 4, 8, 15]]
    with torch.no_grad():
        prompted, lengths = language_model_losses(model, utterances, labels, [10, 13])
        alone, _ = language_model_losses(model, utterances, labels, [])
    save_file({"x": torch.cat(utterances, -1).reshape(-1, 1),
               "lengths": torch.tensor([u.numel() for u in utterances]), "output_lengths": lengths, "losses": alone,
               "prompted_losses": prompted, "labels": torch.tensor([i for ids in labels for i in ids]),
               "label_counts": torch.tensor([len(ids) for ids in labels])}, folder / "logits.safetensors")


def parakeet():
    folder = fresh("parakeet_for_ctc")
    encoder = ParakeetEncoderConfig(
        hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20, conv_kernel_size=5,
        subsampling_conv_channels=4, num_mel_bins=16)
    model = scrambled(ParakeetForCTC(ParakeetCTCConfig(vocab_size=8, pad_token_id=7, encoder_config=encoder)))
    model.save_pretrained(folder)
    pieces = ["<unk>", "▁a", "▁", "a", "b", "c", "ab"]
    tokenizer = Tokenizer(models.BPE({p: i for i, p in enumerate(pieces)}, [("▁", "a"), ("a", "b")], unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.decoder = decoders.Replace("▁", " ")
    tokenizer.add_special_tokens([AddedToken("<pad>", normalized=False, special=True)])
    ParakeetTokenizer(tokenizer_object=tokenizer, pad_token="<pad>").save_pretrained(folder)
    ParakeetFeatureExtractor(feature_size=16).save_pretrained(folder)
    utterances = [torch.randn(n, 16) for n in (43, 29, 57)]
    padded = torch.nn.utils.rnn.pad_sequence(utterances, batch_first=True)
    mask = torch.arange(padded.shape[1])[None] < torch.tensor([[len(u)] for u in utterances])
    lengths = model._get_subsampling_output_length(mask.sum(-1)).tolist()
    save_logits(folder, model, utterances, padded, mask, lengths)


def transducer_tokenizer(decoder):
    """As the conversion from NeMo makes it: the blank is last. An RNN-T pads with it, a TDT with a token of its own."""
    special = ["<unk>", "<blank>"] if decoder == "rnnt" else ["<unk>", "<pad>", "<blank>"]
    pieces = [*special[:-1], "▁a", "▁", "a", "b", "c", "ab"]
    tokenizer = Tokenizer(models.BPE({p: i for i, p in enumerate(pieces)}, [("▁", "a"), ("a", "b")], unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.decoder = decoders.Replace("▁", " ")
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in special])
    return ParakeetTokenizer(tokenizer_object=tokenizer, pad_token=special[-1 if decoder == "rnnt" else 1], unk_token="<unk>")


def transducer_losses(model, encoded, labels):
    """Of utterances alone, undivided, with the sigma that a recipe of penstock has by default."""
    blank, losses = model.config.blank_token_id, []
    for frames, ids in zip(encoded, labels):
        predicted = model.decoder(torch.tensor([[blank, *ids]]))
        logits = model.joint(decoder_hidden_states=predicted[:, None], encoder_hidden_states=frames[None, :, None])
        if isinstance(model, ParakeetForTDT):
            losses.append(tdt_loss(logits[..., :blank + 1], logits[..., blank + 1:], torch.tensor([ids]), torch.tensor([len(frames)]),
                                   torch.tensor([len(ids)]), blank, model.config.durations, 0.05, "none")[0])
        else:  # blank first
            losses.append(rnnt_loss(logits[0].roll(1, -1).log_softmax(-1), [i + 1 for i in ids]))
    return torch.stack(losses)


def parakeet_transducer(decoder):
    torch.manual_seed(7)
    folder, tokenizer = fresh(f"parakeet_for_{decoder}"), transducer_tokenizer(decoder)
    encoder = ParakeetEncoderConfig(
        hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20, conv_kernel_size=5,
        subsampling_conv_channels=4, num_mel_bins=16)
    kind, config, more = {"rnnt": (ParakeetForRNNT, ParakeetRNNTConfig, {}),
                          "tdt": (ParakeetForTDT, ParakeetTDTConfig, dict(durations=[0, 1, 3]))}[decoder]
    model = scrambled(kind(config(
        vocab_size=len(tokenizer), decoder_hidden_size=10, blank_token_id=len(tokenizer) - 1, pad_token_id=tokenizer.pad_token_id,
        encoder_config=encoder, **more)))
    model.generation_config.decoder_start_token_id = model.config.blank_token_id
    model.save_pretrained(folder)
    ParakeetProcessor(ParakeetFeatureExtractor(feature_size=16), tokenizer, decoder_type=decoder).save_pretrained(folder)
    utterances, labels = [torch.randn(n, 16) for n in (43, 29, 57)], [[3, 2, 5, 5], [], [6, 3, 4, 0, 2, 6, 1]]
    padded = torch.nn.utils.rnn.pad_sequence(utterances, batch_first=True)
    mask = torch.arange(padded.shape[1])[None] < torch.tensor([[len(u)] for u in utterances])
    lengths = model._get_subsampling_output_length(mask.sum(-1)).tolist()
    with torch.no_grad():
        batch = model.get_audio_features(padded, attention_mask=mask).pooler_output
        encoded = [batch[i, :n] for i, n in enumerate(lengths)]
        losses = transducer_losses(model, encoded, labels)
    save_file({"x": torch.cat(utterances), "lengths": torch.tensor([len(u) for u in utterances]),
               "output_lengths": torch.tensor(lengths), "encoded": torch.cat(encoded).contiguous(), "losses": losses,
               "labels": torch.tensor([i + 1 for ids in labels for i in ids]), "label_counts": torch.tensor([len(ids) for ids in labels])},
              folder / "logits.safetensors")


def wav2vec2_bert():
    folder = fresh("wav2vec2_bert_for_ctc")
    vocabulary = {"<pad>": 0, "<unk>": 1, "|": 2, "A": 3, "'": 4, "B": 5}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    tokenizer = Wav2Vec2CTCTokenizer(folder / "vocab.json")
    model = scrambled(Wav2Vec2BertForCTC(Wav2Vec2BertConfig(
        vocab_size=len(tokenizer), hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20,
        feature_projection_input_dim=16, conv_depthwise_kernel_size=5, left_max_position_embeddings=4,
        right_max_position_embeddings=2)))
    model.save_pretrained(folder)
    Wav2Vec2BertProcessor(SeamlessM4TFeatureExtractor(feature_size=8, num_mel_bins=8), tokenizer).save_pretrained(folder)
    utterances = [torch.randn(n, 16) for n in (23, 3, 37)]
    padded = torch.nn.utils.rnn.pad_sequence(utterances, batch_first=True)
    mask = torch.arange(padded.shape[1])[None] < torch.tensor([[len(u)] for u in utterances])
    save_logits(folder, model, utterances, padded, mask.long(), [len(u) for u in utterances])


def make(save):
    wav2vec2()
    parakeet()
    hubert()
    omniasr()
    wav2vec2_pretrained()
    mms()
    wav2vec2_bert()
    parakeet_transducer("rnnt")
    parakeet_transducer("tdt")
    omniasr_language_model()
