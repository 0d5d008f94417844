"""LoRA adapters as PEFT saves them, for bases of huggingface.py: folders beside this script.

NAME/ is what save_pretrained() of PEFT writes; NAME/logits.safetensors is as that of the base, with the adapter.
"""
import shutil
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import ParakeetForCTC, Wav2Vec2ForCTC

FOLDER = Path(__file__).parent.parent


def adapter(name, base, kind, config, logits):
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    model = get_peft_model(kind.from_pretrained(FOLDER / base), config).eval()
    generator = torch.Generator().manual_seed(6)
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data += torch.randn(parameter.shape, generator=generator) * 0.3
    model.peft_config["default"].base_model_name_or_path = base
    model.save_pretrained(folder)
    (folder / "README.md").unlink()  # a form to fill in
    golden = load_file(FOLDER / base / "logits.safetensors")
    with torch.no_grad():
        rows = [logits(model, x) for x in golden["x"].split(golden["lengths"].tolist())]
    assert [len(row) for row in rows] == golden["output_lengths"].tolist()
    save_file({"x": golden["x"], "lengths": golden["lengths"], "output_lengths": golden["output_lengths"],
               "logits": torch.cat(rows).contiguous()}, folder / "logits.safetensors")


def make(save):
    # Without k, with ranks and alphas that differ, and with a head of its own.
    adapter("wav2vec2_adapter", "wav2vec2_for_ctc", Wav2Vec2ForCTC, LoraConfig(
        r=2, lora_alpha=3, lora_dropout=0.1, target_modules=["q_proj", "v_proj", "intermediate_dense"],
        rank_pattern={"layers.1.attention.v_proj": 3}, alpha_pattern={"intermediate_dense": 5}, modules_to_save=["lm_head"]),
        lambda model, x: model(x.reshape(1, -1)).logits[0])
    # With convolutions whose kernel is 1, permuted columns and the head among the adapted modules, and with norms that are saved.
    adapter("parakeet_adapter", "parakeet_for_ctc", ParakeetForCTC, LoraConfig(
        r=3, lora_alpha=4, use_rslora=True, target_modules=r".*(self_attn\.[qkv]_proj|pointwise_conv1|subsampling\.linear)|ctc_head",
        modules_to_save=["conv.norm"]),
        lambda model, x: model(x[None], attention_mask=torch.ones(1, len(x), dtype=torch.long)).logits[0])
