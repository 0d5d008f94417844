"""The input of a language model that hears: each utterance's frames, and then the embeddings of a prompt, of the text's
start and of its labels. An utterance may have no frames or no labels."""
import torch
import torch.nn.functional as F

WIDTH, CLASSES, PROMPT, BOS = 5, 11, [7, 0, 7], 1
UTTERANCES = [(4, [3, 10, 0, 3]), (1, []), (0, [5, 1]), (7, [7])]  # frames, labels


def make(save):
    lengths = [frames for frames, _ in UTTERANCES]
    x = torch.randn(sum(lengths), WIDTH).double().requires_grad_()
    table = torch.randn(CLASSES, WIDTH).double().requires_grad_()
    y = torch.cat([torch.cat([frames, F.embedding(torch.tensor(PROMPT + [BOS] + labels), table)])
                   for frames, (_, labels) in zip(x.split(lengths), UTTERANCES)])
    dy = torch.randn(y.shape).double()
    y.backward(dy)
    tensors = {"x": x, "weight": table, "y": y, "dy": dy, "dx": x.grad, "d weight": table.grad}
    save("text_embedding", {name: t.float() for name, t in tensors.items()} | dict(
        lengths=torch.tensor(lengths), labels=torch.tensor(sum((labels for _, labels in UTTERANCES), [])),
        label_counts=torch.tensor([len(labels) for _, labels in UTTERANCES])))
