"""The folder that pods share as /data: a corpus, a recipe, and what the training writes."""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from training_record import losses, record  # noqa: E402

OURS = ("steps", "lanes", "validation", "checkpoint_every", "stages", "replicas", "[pipeline]")  # lines of the recipe


class SharedTraining:
    def __init__(self, corpus, folder, user, replicas):
        self.folder, self.replicas = folder, replicas
        self.output = folder / "runs/penstock"
        folder.mkdir()
        subprocess.run([corpus, folder], check=True)
        self.rename(folder, "/data")
        os.chown(folder, user, user)  # as fsGroup does
        self.write_recipe(1000000)

    def rename(self, old, new):
        """Changes the paths in recipe and manifests."""
        for path in [*self.folder.glob("*.toml"), *self.folder.glob("*.jsonl")]:
            path.write_text(path.read_text().replace(f"{old}/", f"{new}/"))

    def write_recipe(self, steps):
        recipe = self.folder / "recipe.toml"
        lines = [line for line in recipe.read_text().splitlines() if line.split(" ")[0] not in OURS]
        text = "\n".join(lines).replace("[trainer]", f"[trainer]\nsteps = {steps}\nlanes = {self.replicas}\ncheckpoint_every = 1000000")
        recipe.write_text(f"{text}\n[pipeline]\nstages = 1\nreplicas = {self.replicas}\n")

    def steps(self):
        metrics = self.output / "metrics.jsonl"
        return metrics.read_text().count("loss_hex") if metrics.exists() else 0

    def is_that_of(self, penstock):
        """Whether an undisturbed training on this machine has the same losses and tensors."""
        whole, log = self.folder / "whole", self.folder / "whole.log"
        self.rename("/data", self.folder)
        with open(log, "w") as said:
            subprocess.run([penstock, "train", self.folder / "recipe.toml", "pipeline.replicas=1", "data.validation=",
                            f"trainer.output={whole}"], check=True, stdout=said, stderr=said)
        return len(losses(whole)) == self.steps() and record(whole) == record(self.output)
