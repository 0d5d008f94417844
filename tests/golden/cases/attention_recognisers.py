"""Tiny recognisers with an attention decoder, as transformers saves them: folders beside this script, like those of huggingface.py.

logits.safetensors holds the "losses" of "labels", of which 0 is the token that ends texts, after a prompt of English. Utterances are
computed one by one, Whisper's without padding to 30 s.
"""
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from transformers import (
    CanaryConfig, CanaryForConditionalGeneration, CohereAsrConfig, CohereAsrFeatureExtractor, CohereAsrForConditionalGeneration,
    ParakeetEncoderConfig, ParakeetFeatureExtractor, WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration,
    WhisperProcessor)
from transformers.modeling_outputs import BaseModelOutput

from cases.huggingface import FOLDER, fresh, scrambled
from cases.whisper import encode

sys.path.insert(0, str(FOLDER.parent / "tools"))
from attention_round_trip import WHISPER_TOKENS, canary_prompt, canary_tokenizer, whisper_prompt, whisper_tokenizer  # noqa: E402

LENGTHS = (45, 30, 61)


class Counted:
    """In place of a random generator: three letters."""

    @staticmethod
    def randint(_, __):
        return 3


def label_of(row, eos):
    return 0 if row == eos else row + 1 if row < eos else row


def save_losses(folder, model, x, encoded, prompt, texts):
    eos, losses = model.config.eos_token_id, []
    for memory, text in zip(encoded, texts):
        with torch.no_grad():
            rows = model(encoder_outputs=memory, decoder_input_ids=torch.tensor([prompt + text])).logits[0, len(prompt) - 1:]
        losses.append(F.cross_entropy(rows, torch.tensor(text + [eos]), reduction="sum"))
    save_file({"x": torch.cat(x), "lengths": torch.tensor([len(u) for u in x]),
               "output_lengths": torch.tensor([memory.last_hidden_state.shape[1] for memory in encoded]),
               "labels": torch.tensor([label_of(row, eos) for text in texts for row in text]),
               "label_counts": torch.tensor([len(text) for text in texts]), "losses": torch.stack(losses)},
              folder / "logits.safetensors")


def whisper():
    folder, tokenizer = fresh("whisper_for_conditional_generation"), whisper_tokenizer()
    rows = {token: tokenizer.convert_tokens_to_ids(token) for token in WHISPER_TOKENS}
    WhisperProcessor(WhisperFeatureExtractor(), tokenizer).save_pretrained(folder)
    model = scrambled(WhisperForConditionalGeneration(WhisperConfig(
        vocab_size=len(tokenizer) - 2, d_model=12, encoder_layers=2, decoder_layers=2, encoder_attention_heads=3,
        decoder_attention_heads=3, encoder_ffn_dim=20, decoder_ffn_dim=18, max_source_positions=31, max_target_positions=14,
        decoder_start_token_id=rows["<|startoftranscript|>"], begin_suppress_tokens=None,
        **dict.fromkeys(("eos_token_id", "bos_token_id", "pad_token_id"), rows["<|endoftext|>"]))))
    model.save_pretrained(folder)
    x = [torch.randn(n, 80) for n in LENGTHS]
    with torch.no_grad():
        encoded = [BaseModelOutput(last_hidden_state=encode(model.model.encoder, u)[None]) for u in x]
    texts = [tokenizer(text, add_special_tokens=False).input_ids for text in ("abed c", "", "é")]
    save_losses(folder, model, x, encoded, tokenizer.convert_tokens_to_ids(whisper_prompt("en")), texts)


def fast_conformer():
    return ParakeetEncoderConfig(hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20, conv_kernel_size=5,
                                 subsampling_conv_channels=4, num_mel_bins=16)


def on_fast_conformer(name, model, extractor, tokenizer, prompt):
    folder = fresh(name)
    tokenizer.save_pretrained(folder)
    extractor.save_pretrained(folder)
    model = scrambled(model)
    model.save_pretrained(folder)
    x = [torch.randn(n, 16) for n in LENGTHS]
    with torch.no_grad():
        encoded = [model.model.encoder(u[None]) for u in x]
    texts = [tokenizer(text, add_special_tokens=False).input_ids for text in ("αβ γ", "", "β")]
    save_losses(folder, model, x, encoded, tokenizer.convert_tokens_to_ids(prompt), texts)


def canary():
    tokenizer = canary_tokenizer(Counted)
    rows = len(tokenizer) + 1
    model = CanaryForConditionalGeneration(CanaryConfig(vocab_size=rows, encoder_config=fast_conformer(), decoder_config=dict(
        vocab_size=rows, hidden_size=12, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2, head_dim=6,
        intermediate_size=18, max_position_embeddings=17)))
    on_fast_conformer("canary_for_conditional_generation", model, ParakeetFeatureExtractor(feature_size=16), tokenizer,
                      canary_prompt("en"))


def cohere():
    tokenizer = canary_tokenizer(Counted)
    model = CohereAsrForConditionalGeneration(CohereAsrConfig(
        vocab_size=len(tokenizer), encoder_config=fast_conformer(), hidden_size=8, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=18, max_position_embeddings=17))
    on_fast_conformer("cohere_asr_for_conditional_generation", model, CohereAsrFeatureExtractor(feature_size=16), tokenizer,
                      ["▁", *canary_prompt("en")])


def make(_):
    whisper()
    torch.manual_seed(1)
    canary()
    torch.manual_seed(2)
    cohere()
