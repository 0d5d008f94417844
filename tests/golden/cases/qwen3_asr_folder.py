"""A tiny Qwen3ASRForConditionalGeneration as transformers saves it: the folder qwen3_asr_for_conditional_generation/ beside the
script make_golden.py. Its logits.safetensors has "x", the frames of one utterance after the other, their "lengths", the
"output_lengths" of the tower, "labels", of which 0 is <|audio_pad|>, and the "losses" with the prompt of no language and, as
"english_losses", of English. "ids" and "english_ids" are what the processor makes of both prompts, without the placeholders."""
import shutil
from pathlib import Path

import torch
from safetensors.torch import save_file

FOLDER = Path(__file__).parent.parent / "qwen3_asr_for_conditional_generation"
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|audio_start|>", "<|audio_end|>", "<|audio_pad|>"]
TEMPLATE = (
    "{%- set ns = namespace(system='', answer='') -%}{%- for m in messages -%}{%- if m.role == 'system' -%}"
    "{%- set ns.system = m.content[0].text -%}{%- elif m.role == 'assistant' -%}{%- set ns.answer = m.content[0].text -%}"
    "{%- endif -%}{%- endfor -%}{{- '<|im_start|>system\\n' + ns.system + '<|im_end|>\\n<|im_start|>user\\n"
    "<|audio_start|><|audio_pad|><|audio_end|><|im_end|>\\n<|im_start|>assistant\\n' + ns.answer -}}")


def tokenizer(merges=()):
    """A Qwen2 tokenizer of all bytes, some merges, the special tokens, and <asr_text>, which is text."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
    from tokenizers import Regex
    from transformers import Qwen2Tokenizer
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = [*alphabet, *(a + b for a, b in merges)]
    made = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, list(merges)))
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"),
            "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in SPECIAL])
    made.add_tokens([AddedToken("<asr_text>", normalized=False, special=False)])
    return Qwen2Tokenizer(
        tokenizer_object=made, eos_token="<|im_end|>", pad_token="<|endoftext|>", unk_token=None,
        extra_special_tokens={"audio_token": "<|audio_pad|>", "audio_bos_token": "<|audio_start|>",
                              "audio_eos_token": "<|audio_end|>"})


def losses(model, utterances, labels, known):
    """Of utterances alone: the sums over the text and its end. `known` are the ids before and after the placeholders."""
    audio, end, sums, lengths = model.config.audio_token_id, known[2], [], []
    for frames, ids in zip(utterances, labels):
        longest = -(-len(frames) // 100) * 100
        mask = (torch.arange(longest) < len(frames)).long()[None]
        padded = torch.nn.functional.pad(frames.T, (0, longest - len(frames)))[None]
        count = len(model.model.audio_tower(padded, mask).last_hidden_state)
        prompt, text = [*known[0], *[audio] * count, *known[1]], [*ids, end]
        loss = model(input_ids=torch.tensor([prompt + text]), input_features=padded, input_features_mask=mask,
                     labels=torch.tensor([[-100] * len(prompt) + text])).loss
        sums.append(loss * len(text))
        lengths.append(count)
    return torch.stack(sums), torch.tensor(lengths)


def make(save):
    from transformers import Qwen3ASRConfig, Qwen3ASRFeatureExtractor, Qwen3ASRForConditionalGeneration, Qwen3ASRProcessor
    from cases.huggingface import scrambled
    torch.manual_seed(13)
    shutil.rmtree(FOLDER, ignore_errors=True)
    text = tokenizer([("e", "n"), ("Ġ", "t"), ("Ġ", "E")])
    audio, end = (text.convert_tokens_to_ids(token) for token in ("<|audio_pad|>", "<|im_end|>"))
    model = scrambled(Qwen3ASRForConditionalGeneration(Qwen3ASRConfig(
        audio_config=dict(d_model=12, encoder_layers=2, encoder_attention_heads=3, encoder_ffn_dim=20, num_mel_bins=9, output_dim=8,
                          downsample_hidden_size=4, n_window_infer=200),
        text_config=dict(model_type="qwen3", vocab_size=len(text) + 3, hidden_size=8, intermediate_size=10, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2, head_dim=6, rope_parameters=dict(rope_theta=500.0,
                                                                                                        rope_type="default")),
        audio_token_id=audio, eos_token_id=[end, audio + 1], pad_token_id=end)))
    model.save_pretrained(FOLDER)
    processor = Qwen3ASRProcessor(Qwen3ASRFeatureExtractor(feature_size=9), text, chat_template=TEMPLATE)
    processor.save_pretrained(FOLDER)
    utterances = [torch.randn(n, 9) for n in (331, 8, 197)]
    labels = [[5, 4, 260, 260], [], [8, 5, 6, 300 % len(text), 4, 8, 258]]
    out = {"x": torch.cat(utterances), "lengths": torch.tensor([len(u) for u in utterances])}
    for name, language in (("", None), ("english_", "en")):
        ids = processor.apply_transcription_request([torch.zeros(8000).numpy()], language=language)["input_ids"][0].tolist()
        known = ids[:ids.index(audio)], ids[len(ids) - ids[::-1].index(audio):], end
        with torch.no_grad():
            out[f"{name}losses"], out["output_lengths"] = losses(model, utterances, labels, known)
        out[f"{name}ids"], out[f"{name}known"] = torch.tensor([*known[0], *known[1]]), torch.tensor([len(part) for part in known[:2]])
    out["labels"] = torch.tensor([i + 1 if i < audio else i for ids in labels for i in ids])
    out["label_counts"] = torch.tensor([len(ids) for ids in labels])
    save_file(out, FOLDER / "logits.safetensors")
