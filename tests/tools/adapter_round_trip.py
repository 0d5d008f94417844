#!/usr/bin/env python3
"""Random LoRA adapters of PEFT through `penstock import --adapter` and `penstock export --adapter`: logits as PEFT computes
them, and the adapter's tensors to the byte. Then an adapter that `penstock train` has trained, loaded by PEFT.

  adapter_round_trip.py PENSTOCK KIND,… FOLDER [SEED...]

KIND is one of round_trip.py's with a head, omniasr_llm, or refusals: adapters that penstock does not read.
"""
import copy
import json
import random
import subprocess
import sys
import warnings
from pathlib import Path

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file
from transformers import OmniASRForConditionalGeneration

from language_model_round_trip import compare_texts, save_omniasr_llm
from round_trip import SAVERS, compare_logits, run, save, save_sound



def compare(penstock, checkpoint, model, folder, rng):
    """Logits; or texts, if logits depend on them."""
    texts = isinstance(model, OmniASRForConditionalGeneration)
    (compare_texts if texts else compare_logits)(penstock, checkpoint, model, folder, rng)


def linear_modules(model):
    """The modules that penstock adapts: products, also those that are convolutions with a kernel of 1."""
    names = []
    for name, module in model.named_modules():
        product = isinstance(module, torch.nn.Linear) or (
            isinstance(module, torch.nn.Conv1d) and module.kernel_size == (1,) and module.groups == 1)
        if product and "relative_k_proj" not in name and "conv_layers" not in name:
            names.append(name)
    return names


def settings_of(model, rng):
    """An adapter as anyone may configure it: some kinds of modules, and ranks and alphas of their own for some."""
    names = linear_modules(model)
    head = names[-1] if names[-1] in ("lm_head", "ctc_head") else next(n for n in names if n in ("lm_head", "ctc_head"))
    kinds = sorted({name.rpartition(".")[2] for name in names} - {head})
    chosen = rng.sample(kinds, rng.randint(1, len(kinds)))
    saves_head = rng.random() < 0.5
    if not saves_head and rng.random() < 0.5 and not isinstance(model, OmniASRForConditionalGeneration):  # its head is its loss
        chosen.append(head)
    adapted = [name for name in names if name.rpartition(".")[2] in chosen]
    ranks = {name: rng.randint(1, 5) for name in rng.sample(adapted, rng.randint(0, len(adapted)))} if rng.random() < 0.5 else {}
    alphas = {rng.choice(chosen): rng.randint(1, 20)} if rng.random() < 0.5 else {}
    return LoraConfig(r=rng.randint(1, 6), lora_alpha=rng.randint(1, 16), lora_dropout=rng.choice([0.0, 0.1]), target_modules=chosen,
                      rank_pattern=ranks, alpha_pattern=alphas, use_rslora=rng.random() < 0.3,
                      modules_to_save=[head] if saves_head else None)


def adapted_model(base, settings):
    """A wrapped copy of the model. Its adapter has numbers that no initialisation gives."""
    model = get_peft_model(copy.deepcopy(base), settings)
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            with torch.no_grad():
                parameter.add_(torch.randn_like(parameter) / 16)  # small, so that logits are not ill-conditioned
    return model.eval()


def merged(model):
    return copy.deepcopy(model).merge_and_unload().eval()


def load(base, folder):
    """As from_pretrained() of PEFT does; every tensor must have its place."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="(?i).*(missing|unexpected)")
        model = PeftModel.from_pretrained(copy.deepcopy(base), folder).eval()
    theirs = {name for name, _ in model.named_parameters() if "lora_" in name}
    stored = {name.replace(".weight", ".default.weight") for name in load_file(folder / "adapter_model.safetensors") if "lora_" in name}
    assert theirs == stored, theirs ^ stored
    return model


def expect_weights(model, exported):
    found = type(model).from_pretrained(exported).state_dict()
    for name, tensor in model.state_dict().items():
        if tensor.is_floating_point():
            distance = (tensor - found[name]).abs().max().item()
            assert distance <= 1e-5, f"{name} is off by {distance}"


def expect_adapter(before, after, settings):
    """The same tensors. B of modules with another scale than the largest is multiplied, so their products are compared."""
    theirs, ours = (load_file(folder / "adapter_model.safetensors") for folder in (before, after))
    assert theirs.keys() == ours.keys(), theirs.keys() ^ ours.keys()
    one_scale = not (settings.rank_pattern or settings.alpha_pattern)
    for name, tensor in theirs.items():
        assert tensor.shape == ours[name].shape, (name, tensor.shape, ours[name].shape)
        if one_scale or "lora_B" not in name:
            assert torch.equal(tensor, ours[name]), name


def train(penstock, checkpoint, folder, rng):
    """One step on noise; the adapter is trained further."""
    file = folder / "train.wav"
    samples = save_sound(file, 1280 * 40, rng)
    recipe, trained = (checkpoint.with_name(f"{checkpoint.name}-{part}") for part in ("recipe.toml", "trained"))
    recipe.write_text(run(penstock, "info", checkpoint, "--recipe"))
    (folder / "train.jsonl").write_text(json.dumps({"audio_filepath": file.name, "duration": len(samples) / 16000, "text": "α"}) + "\n")
    run(penstock, "train", recipe, f"data.train={folder / 'train.jsonl'}", f"trainer.output={trained}", "trainer.steps=1",
        "data.micro_batches=1", "optimizer.learning_rate=0.01")
    return trained


def round_trip(penstock, kind, output, seed):
    rng = random.Random(seed)
    torch.manual_seed(seed)
    folder, adapter, merged_checkpoint, checkpoint, exported, back = (
        output / f"{kind}-adapter-{seed}{part}" for part in ("", "-theirs", "-merged", "-checkpoint", "-exported", "-back"))
    folder.mkdir()
    base = (SAVERS | {"omniasr_llm": save_omniasr_llm})[kind](folder, rng)
    save(base, folder, rng)
    settings = settings_of(base, rng)
    model = adapted_model(base, settings)
    model.save_pretrained(adapter, save_embedding_layers=False)  # else it fails where lm_head is adapted
    whole = merged(model)
    assert max((tensor - whole.state_dict()[name]).abs().max() for name, tensor in base.state_dict().items()) > 0.01

    run(penstock, "import", folder, "--adapter", adapter, "--merge", "-o", merged_checkpoint)
    compare(penstock, merged_checkpoint, whole, folder, rng)
    run(penstock, "import", folder, "--adapter", adapter, "-o", checkpoint)
    compare(penstock, checkpoint, whole, folder, rng)
    run(penstock, "export", checkpoint, "-o", exported)
    expect_weights(whole, exported)
    run(penstock, "export", "--adapter", checkpoint, "-o", back, "--base", folder)
    expect_adapter(adapter, back, settings)
    compare(penstock, checkpoint, merged(load(base, back)), folder, rng)

    trained = train(penstock, checkpoint, folder, rng)
    exported, back, again = (trained.with_name(f"{trained.name}-{part}") for part in ("exported", "back", "again"))
    run(penstock, "export", trained, "-o", exported)
    run(penstock, "export", "--adapter", trained, "-o", back, "--base", folder)
    loaded = merged(load(base, back))
    expect_weights(loaded, exported)
    compare(penstock, trained, loaded, folder, rng)
    run(penstock, "import", folder, "--adapter", back, "-o", again)
    compare(penstock, again, loaded, folder, rng)


def refuse(penstock, output, seed):
    """What changes the base, or adds what penstock's layers have not."""
    rng = random.Random(seed)
    torch.manual_seed(seed)
    folder = output / f"refusals-{seed}"
    folder.mkdir()
    base = SAVERS["wav2vec2"](folder, rng)
    save(base, folder, rng)
    for name, more, said in (("dora", dict(use_dora=True), "use_dora is true"), ("bias", dict(bias="all"), 'bias is "all"'),
                             ("lora_bias", dict(lora_bias=True), "lora_bias is true"),
                             ("pissa", dict(init_lora_weights="pissa"), 'init_lora_weights is "pissa"'),
                             ("regular", dict(rank_pattern={r"layers\.\d+\..*": 2}), "a regular expression")):
        adapter = folder / name
        get_peft_model(copy.deepcopy(base), LoraConfig(r=3, target_modules=["q_proj", "v_proj"], **more)).save_pretrained(adapter)
        done = subprocess.run([penstock, "import", folder, "--adapter", adapter, "-o", folder / "none"], capture_output=True, text=True)
        assert done.returncode == 4 and said in done.stderr and not (folder / "none").exists(), (name, done.returncode, done.stderr)


if __name__ == "__main__":
    penstock, kinds, output, *seeds = sys.argv[1:]
    for kind in kinds.split(","):
        for seed in map(int, seeds or range(4)):
            if kind == "refusals":
                refuse(penstock, Path(output), seed)
            else:
                round_trip(penstock, kind, Path(output), seed)
            print(f"{kind} {seed}: equal")
