#!/usr/bin/env python3
"""Activation memory of long utterances, penstock's plan beside PyTorch's models of hf_bench.py, as rows of Markdown.

  tests/measure/peers/activation_memory.py HF_BENCH [--seconds S...]

One utterance a micro-batch, FP32. "one" is what a step with one micro-batch keeps for backward, recomputation included; "more" is what
each further micro-batch in flight adds. Of PyTorch, the storages that autograd saves are counted, each once, without the model's own:
"one" is the most at any time of a step, "more" what is there between forward and backward. Its tensors are fake: they have sizes and no
memory (torch._subclasses.FakeTensorMode), so that any length can be counted. CTC is left out there: what it saves is 0.03 % of the rest.
PENSTOCK names the binary (build/release/penstock). Wants torch and transformers.
"""
import argparse, importlib.util, json, os, pathlib, subprocess, sys, tempfile, wave, weakref
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

RECIPES = {"omni-ctc-300m": ["features.kind=waveform"], "fastconformer-l": ["features.kind=log-mel", "model.classes=1025"]}
WAYS = {"none": "keeps all", "selective": "selective", "layers": "every other unit", "stage": "whole stages"}


def storage(tensor): return tensor.untyped_storage()._cdata


class Saved:
    """Bytes of the storages that autograd holds, each counted once however many tensors share it."""
    def __init__(self, model):
        self.own = {storage(t) for t in [*model.parameters(), *model.buffers()]}
        self.held, self.bytes, self.most = {}, 0, 0

    def pack(self, tensor):
        key = storage(tensor)
        if key in self.own: return tensor
        if key not in self.held:
            self.held[key] = [0, tensor.untyped_storage().nbytes()]
            self.bytes += self.held[key][1]
            self.most = max(self.most, self.bytes)
        self.held[key][0] += 1
        holder = Holder(tensor)
        weakref.finalize(holder, self.release, key)
        return holder

    def release(self, key):
        self.held[key][0] -= 1
        if self.held[key][0] == 0: self.bytes -= self.held.pop(key)[1]


class Holder:
    def __init__(self, tensor): self.tensor = tensor


def unpack(saved): return saved.tensor if isinstance(saved, Holder) else saved


def of_pytorch(bench, name, seconds, checkpointing):
    """(one, more) in bytes."""
    kind, make = bench.MODELS[name]
    with FakeTensorMode():
        model = make("sdpa").train()
        if checkpointing: model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": True})  # else hooks miss its second forward
        x = {"input_values": torch.randn(1, seconds * 16000)} if kind == "wave" else {"input_features": torch.randn(1, seconds * 100, 80)}
        saved = Saved(model)
        with torch.autograd.graph.saved_tensors_hooks(saved.pack, unpack):
            loss = model(**x).logits.log_softmax(-1).sum()
            kept = saved.bytes
            loss.backward()
        return saved.most, kept


def plan(folder, name, seconds, words):
    """The one stage of `penstock plan`."""
    recipe = folder / "recipe.toml"
    recipe.write_text(f'[model]\nbase = "{name}"\n[data]\ntrain = "{folder}/{seconds}.jsonl"\nmicro_batch_seconds = {2 * seconds - 1}\n')
    penstock = os.environ.get("PENSTOCK", "build/release/penstock")
    done = subprocess.run([penstock, "plan", recipe, "--computed", "--json", "pipeline.schedule=gpipe", *words, *RECIPES[name]],
                          capture_output=True, text=True)
    if done.returncode: sys.exit(done.stderr)
    return json.loads(done.stdout)["plan"][0]


def every_other(layers):
    """Norms and activations of the front end, and every feed-forward unit: no two of blocks are neighbours, so that they take turns."""
    front = [l for l in layers if l.startswith("frontend.") and ("norm" in l or "act" in l)]
    return front + [l for l in layers if "feed_forward" in l]


def of_penstock(folder, name, seconds, way):
    words = [f"pipeline.recompute={way}"]
    if way == "layers": words.append("pipeline.recompute_layers=" + json.dumps(every_other(plan(folder, name, seconds, [])["layers"])))
    plans = [plan(folder, name, seconds, [*words, f"data.micro_batches={n}"])["bytes"] for n in (1, 2)]
    one, two = (bytes["saved"] + bytes["messages"] for bytes in plans)  # the chunk's input is a message
    return one, two - one


def write_silence(folder, seconds):
    with wave.open(str(folder / f"{seconds}.wav"), "wb") as sound:
        sound.setparams((1, 2, 16000, 0, "NONE", ""))
        sound.writeframes(bytes(2 * 16000 * seconds))
    line = json.dumps({"audio_filepath": f"{seconds}.wav", "duration": seconds, "text": "ab"})
    (folder / f"{seconds}.jsonl").write_text(2 * (line + "\n"))


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("bench"); a.add_argument("--seconds", type=int, nargs="+", default=[15, 30, 60])
    a = a.parse_args()
    spec = importlib.util.spec_from_file_location("hf_bench", a.bench)
    bench = importlib.util.module_from_spec(spec); spec.loader.exec_module(bench)
    print("| model | | " + " | ".join(f"{s} s, one | more" for s in a.seconds) + " |\n|---|---|" + "---|---|" * len(a.seconds))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for s in a.seconds: write_silence(folder, s)
        for model in RECIPES:
            rows = {f"penstock, {said}": [of_penstock(folder, model, s, way) for s in a.seconds] for way, said in WAYS.items()}
            rows |= {f"PyTorch, {said}": [of_pytorch(bench, model, s, c) for s in a.seconds] for c, said in ((False, "keeps all"), (True, "checkpointing"))}
            for said, pairs in rows.items():
                print(f"| {model} | {said} | " + " | ".join(f"{one / 1e6:,.0f} | {more / 1e6:,.0f}" for one, more in pairs) + " |", flush=True)


if __name__ == "__main__": main()
