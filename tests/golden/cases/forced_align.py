"""torchaudio.functional.forced_align over log_softmax: labels and log-probabilities of each frame (torchaudio 2.11)."""
import torch
import torchaudio.functional as F

CLASSES = 6
CASES = [  # frames and labels
    (13, [3, 1, 4, 1, 5]),
    (1, [2]),
    (5, [4, 4, 4]),  # needs exactly 5 frames
    (4, [1, 2, 3, 4]),  # fills its frames
    (57, [1, 1, 2, 3, 5, 5, 5, 2, 4, 3, 3, 1, 2, 4, 1]),
    (33, [2, 2, 2, 2, 2, 2, 2]),
    (101, [5, 4, 3, 2, 1] * 7),
]


def make(save):
    logits = [torch.randn(frames, CLASSES) * 3 for frames, _ in CASES]
    paths, scores = [], []
    for rows, (_, labels) in zip(logits, CASES):
        path, score = F.forced_align(rows.double().log_softmax(-1)[None], torch.tensor([labels]), blank=0)
        paths.append(path[0])
        scores.append(score[0])
    save("forced_align", dict(
        lengths=torch.tensor([frames for frames, _ in CASES]),
        label_counts=torch.tensor([len(labels) for _, labels in CASES]),
        labels=torch.tensor(sum((labels for _, labels in CASES), [])),
        logits=torch.cat(logits), paths=torch.cat(paths), scores=torch.cat(scores).float()))
