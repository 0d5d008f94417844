"""A transducer with its prediction and joint networks: loss, gradients of every parameter and of the encoded frames, and
greedy decoding. LSTM networks are those of transformers' Parakeet models, and the stateless one is as icefall has it.
The blank is their last token and class 0 here, so their rows of tokens are stored one place later."""
import torch
import torch.nn as nn
from transformers import ParakeetForRNNT, ParakeetForTDT, ParakeetRNNTConfig, ParakeetTDTConfig
from transformers.models.parakeet import modeling_parakeet as parakeet

from cases import transducer

CHANNELS, LAYERS = 12, 2
TOKENS, BLANK, DURATIONS = transducer.TOKENS, transducer.TOKENS - 1, transducer.DURATIONS
GREEDY_LENGTHS = [23, 1, 40, 9]
ENCODER = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, num_mel_bins=8,
               subsampling_conv_channels=4)


def blank_first(rows, tokens=TOKENS):
    """Rows of tokens with the last one first; further rows stay where they are."""
    return torch.cat([rows[tokens - 1:tokens], rows[:tokens - 1], rows[tokens:]])


class Stateless(nn.Module):
    """The decoder of icefall's recipes, with a context of two labels, and the projection of its joiner."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(TOKENS, CHANNELS)
        self.conv = nn.Conv1d(CHANNELS, CHANNELS, 2, groups=CHANNELS // 4, bias=False)
        self.projection = nn.Linear(CHANNELS, CHANNELS)

    def forward(self, ids):
        x = self.embedding(ids).transpose(1, 2)
        return self.projection(self.conv(nn.functional.pad(x, (1, 0))).relu().transpose(1, 2))


def networks():
    """Kind, and its prediction network, nonlinearity, last product, and modules by the names of parameters."""
    sizes = dict(vocab_size=TOKENS, decoder_hidden_size=CHANNELS, num_decoder_layers=LAYERS, blank_token_id=BLANK,
                 encoder_config=dict(ENCODER))
    for kind, config, joint in (
            ("rnnt", ParakeetRNNTConfig(**sizes), parakeet.ParakeetRNNTJointNetwork),
            ("tdt", ParakeetTDTConfig(**sizes, durations=DURATIONS), parakeet.ParakeetTDTJointNetwork)):
        decoder, head = parakeet.ParakeetRNNTDecoder(config), joint(config).head
        yield kind, decoder, torch.relu, head, lstm_parameters(decoder) | head_parameters(head)
    decoder, head = Stateless(), nn.Linear(CHANNELS, TOKENS)
    yield "stateless", decoder, torch.tanh, head, head_parameters(head) | {
        "embedding.weight": decoder.embedding.weight, "conv.weight": decoder.conv.weight,
        "projection.weight": decoder.projection.weight, "projection.bias": decoder.projection.bias}


def lstm_parameters(decoder):
    found = {"embedding.weight": decoder.embedding.weight,
             "projection.weight": decoder.decoder_projector.weight, "projection.bias": decoder.decoder_projector.bias}
    for i in range(LAYERS):
        for name, theirs in {"input.weight": "weight_ih", "input.bias": "bias_ih", "weight": "weight_hh",
                             "bias": "bias_hh"}.items():
            found[f"lstm{i + 1}.{name}"] = getattr(decoder.lstm, f"{theirs}_l{i}")
    return found


def head_parameters(head):
    return {"joint.weight": head.weight, "joint.bias": head.bias}


def stored(name, tensor):
    if name.startswith(("embedding", "joint")):
        return blank_first(tensor)
    if name.startswith("lstm") and ".input." not in name:
        return tensor.unsqueeze(0)  # the one direction
    return tensor


def loss_of(kind, logits, labels):
    """The loss of one utterance, whose logits have the blank first, as in cases.transducer."""
    if kind != "tdt":
        return transducer.rnnt_loss(logits.log_softmax(-1), labels)
    return transducer.tdt(logits.flatten(0, 1), [(logits.shape[0], labels)])[0]


def ctc_loss(logits, labels):
    """CTC with blank 0; 0 where the labels have no path."""
    return nn.functional.ctc_loss(logits.log_softmax(-1)[:, None], torch.tensor([labels], dtype=torch.long), [len(logits)],
                                  [len(labels)], reduction="sum", zero_infinity=True)


def training(kind, decoder, nonlinearity, head, parameters, ctc_weight=0):
    """With ctc_weight, frames have CTC's logits after the channels of the joint network, and both losses are added."""
    for module in (decoder, head):
        module.double()
        for parameter in module.parameters():
            nn.init.uniform_(parameter, -0.7, 0.7)
            parameter.data = parameter.data.float().double()
    lengths, labels = [t for t, _ in transducer.UTTERANCES], [y for _, y in transducer.UTTERANCES]
    x = torch.randn(sum(lengths), CHANNELS + (TOKENS if ctc_weight else 0)).double().requires_grad_()
    losses = []
    for frames, text in zip(x.split(lengths), labels):
        ids = torch.tensor([[BLANK] + [label - 1 for label in text]])
        logits = head(nonlinearity(frames[:, None, :CHANNELS] + decoder(ids)))
        losses.append(loss_of(kind, blank_first(logits.permute(2, 0, 1)).permute(1, 2, 0), text))
        if ctc_weight:
            losses[-1] = (1 - ctc_weight) * losses[-1] + ctc_weight * ctc_loss(frames[:, CHANNELS:], text)
    torch.stack(losses).sum().backward()
    tensors = dict(x=x, dx=x.grad, lengths=torch.tensor(lengths), labels=torch.tensor(sum(labels, [])),
                   label_counts=torch.tensor([len(y) for y in labels]))
    for name, parameter in parameters.items():
        tensors[name], tensors["d " + name] = stored(name, parameter), stored(name, parameter.grad)
    floats = {name: t.float() if t.is_floating_point() else t for name, t in tensors.items()}
    return floats | dict(losses=torch.stack(losses), sigma=torch.tensor([transducer.SIGMA], dtype=torch.float64))


def random_model(kind):
    """A small model. Its biases let an RNN-T write up to ten labels at some frames and none at others, and a TDT take
    duration 0."""
    sizes = dict(vocab_size=TOKENS, decoder_hidden_size=CHANNELS, num_decoder_layers=LAYERS, blank_token_id=BLANK,
                 pad_token_id=BLANK, encoder_config=dict(ENCODER))
    model = ParakeetForTDT(ParakeetTDTConfig(**sizes, durations=DURATIONS)) if kind == "tdt" else \
        ParakeetForRNNT(ParakeetRNNTConfig(**sizes))
    for module in (model.decoder, model.joint):
        for parameter in module.parameters():
            nn.init.uniform_(parameter, -0.9, 0.9)
    nn.init.uniform_(model.decoder.embedding.weight, -4, 4)
    bias = model.joint.head.bias.data
    bias[BLANK] += 4 if kind == "rnnt" else 1
    bias[TOKENS:TOKENS + 1] -= 0.7
    return model.eval()


def generate(model, x):
    """Texts of encoded frames of our choice, without blanks, and each token's frames."""
    padded = nn.utils.rnn.pad_sequence(x.split(GREEDY_LENGTHS), batch_first=True)
    mask = torch.arange(padded.shape[1]) < torch.tensor(GREEDY_LENGTHS)[:, None]
    model.get_audio_features = lambda **_: parakeet.ParakeetEncoderModelOutput(
        last_hidden_state=padded, pooler_output=padded, attention_mask=mask)
    features = torch.zeros(len(padded), 8 * padded.shape[1], ENCODER["num_mel_bins"])
    others = list(range(TOKENS, model.joint.head.out_features)) or None  # durations are no tokens
    output = model.generate(features, decoder_start_token_id=BLANK, suppress_tokens=others,
                            max_new_tokens=60 if others else None)
    texts, steps = [], []
    for tokens, durations, length in zip(output.sequences.tolist(), output.durations.tolist(), GREEDY_LENGTHS):
        frame, text, step = 0, [], []
        for token, duration in list(zip(tokens, durations))[1:]:
            if frame < length:
                step.append((token != BLANK, duration))
                text += [token + 1] * (token != BLANK)
            frame += duration
        texts.append(text)
        steps.append(step)
    return texts, steps


def longest_stay(step):
    """Most labels in a row that advance by no frame."""
    runs = "".join("0" if label and duration == 0 else " " for label, duration in step).split()
    return max(map(len, runs), default=0)


def greedy(kind):
    """What generate() of a whole model writes. A TDT of transformers may write labels without end: one with fewer than
    ten at a frame is looked for."""
    for seed in range(100):
        torch.manual_seed(seed)
        model, x = random_model(kind), torch.randn(sum(GREEDY_LENGTHS), CHANNELS) * 2
        texts, steps = generate(model, x)
        stay, taken = max(map(longest_stay, steps)), {step for one in steps for step in one}
        ended = all(sum(d for _, d in step) >= length for step, length in zip(steps, GREEDY_LENGTHS))
        if ended and {(True, 0), (False, 1)} <= taken and (kind == "rnnt" or stay < 10):
            break
    else:
        raise ValueError("no seed gives such a model")
    found = lstm_parameters(model.decoder) | head_parameters(model.joint.head)
    return {name: stored(name, parameter) for name, parameter in found.items()} | dict(
        x=x, lengths=torch.tensor(GREEDY_LENGTHS), labels=torch.tensor(sum(texts, [])),
        label_counts=torch.tensor([len(text) for text in texts]))


def make(save):
    for network in networks():
        save(f"transducer_layer_{network[0]}", training(*network))
    for kind in ("rnnt", "tdt"):
        save(f"transducer_greedy_{kind}", greedy(kind))
