"""Decoders that attend to the encoder's output, as in transformers: Whisper's with learned positions and GELU, beside
CTC of the memory, and Canary's with a norm of its embeddings, whose fixed positions are given as a table too. Whisper's keys have
no bias. Utterances run one by one, so no padding takes part."""
import torch
import torch.nn.functional as F
from transformers.models.canary.configuration_canary import CanaryDecoderConfig
from transformers.models.canary.modeling_canary import CanaryDecoder
from transformers.models.whisper.configuration_whisper import WhisperConfig
from transformers.models.whisper.modeling_whisper import WhisperDecoder

FRAMES, WIDTH, CLASSES, POSITIONS = 7, 12, 9, 11
PROMPT, BOS, EOS = [5, 3], 1, 2
UTTERANCES = [(8, [3, 8, 3, 6]), (1, []), (70, [4, 4]), (5, [7])]  # frames, labels
CTC_WEIGHT = 0.25


def whisper():
    decoder = WhisperDecoder(WhisperConfig(
        vocab_size=CLASSES, d_model=WIDTH, decoder_layers=2, decoder_attention_heads=3, decoder_ffn_dim=20,
        max_target_positions=POSITIONS, pad_token_id=0, attn_implementation="eager"))
    layers = [(layer.self_attn_layer_norm, layer.self_attn, layer.self_attn.out_proj, layer.encoder_attn_layer_norm,
               layer.encoder_attn, layer.encoder_attn.out_proj, layer.final_layer_norm, layer.fc1, layer.fc2)
              for layer in decoder.layers]
    return decoder, layers, decoder.layer_norm, None, decoder.embed_positions.weight


def canary():
    decoder = CanaryDecoder(CanaryDecoderConfig(
        vocab_size=CLASSES, hidden_size=WIDTH, intermediate_size=20, num_hidden_layers=2, num_attention_heads=3,
        num_key_value_heads=3, head_dim=4, max_position_embeddings=POSITIONS, pad_token_id=0, attn_implementation="eager"))
    layers = [(layer.input_layernorm, layer.self_attn, layer.self_attn.o_proj, layer.post_attention_layernorm,
               layer.encoder_attn, layer.encoder_attn.o_proj, layer.final_layernorm, layer.mlp.fc1, layer.mlp.fc2)
              for layer in decoder.layers]
    positions = decoder.pos_emb.positional_embedding / WIDTH**0.5
    return decoder, layers, decoder.norm, decoder.embedding_layernorm, positions


def joined(weights, biases):
    """Parts of one product: their weights, and the biases that there are."""
    return list(weights), [b for b in biases if b is not None]


def parameters(layers, norm, embedding_norm):
    """penstock's name of each parameter, and the tensors that make it up."""
    named = {}

    def add(name, module):
        named[f"{name}.weight"], named[f"{name}.bias"] = [module.weight], [module.bias]

    def add_joined(name, parts):
        named[f"{name}.weight"], named[f"{name}.bias"] = joined([p.weight for p in parts], [p.bias for p in parts])
    for i, (norm1, own, out1, norm2, cross, out2, norm3, fc1, fc2) in enumerate(layers, 1):
        block = f"decoder.block{i}"
        add(f"{block}.attention.norm", norm1)
        add_joined(f"{block}.attention.qkv", [own.q_proj, own.k_proj, own.v_proj])
        add(f"{block}.attention.output", out1)
        add_joined(f"{block}.cross_attention.kv", [cross.k_proj, cross.v_proj])
        add(f"{block}.cross_attention.norm", norm2)
        add_joined(f"{block}.cross_attention.q", [cross.q_proj])
        add(f"{block}.cross_attention.output", out2)
        add(f"{block}.feed_forward.norm", norm3)
        add(f"{block}.feed_forward.linear1", fc1)
        add(f"{block}.feed_forward.linear2", fc2)
    add("decoder.norm", norm)
    if embedding_norm is not None:
        add("decoder.text_norm", embedding_norm)
    return named


def make_one(name, make_decoder, ctc_weight, save):
    decoder, layers, norm, embedding_norm, positions = make_decoder()
    decoder = decoder.double().eval()
    with torch.no_grad():
        for p in decoder.parameters():
            p.copy_((torch.randn(p.shape) * 0.4).float().double())
    named = parameters(layers, norm, embedding_norm)
    named["decoder.text.weight"] = [decoder.embed_tokens.weight]
    projection = torch.nn.Linear(FRAMES, WIDTH).double()
    head = torch.nn.Linear(WIDTH, CLASSES, bias=make_decoder is canary).double()
    ctc = torch.nn.Linear(WIDTH, CLASSES).double()
    extra = {"output": projection, "decoder.output": head} | ({"decoder.ctc": ctc} if ctc_weight else {})
    for key, module in extra.items():
        with torch.no_grad():
            for p in module.parameters():
                p.copy_(p.float().double())
        named |= {f"{key}.{k}": [p] for k, p in module.named_parameters()}
    x = torch.randn(sum(frames for frames, _ in UTTERANCES), FRAMES).double()
    losses = []
    for frames, (_, labels) in zip(x.split([f for f, _ in UTTERANCES]), UTTERANCES):
        memory = projection(frames)
        ids = torch.tensor([PROMPT + [BOS] + labels])
        rows = decoder(input_ids=ids, encoder_hidden_states=memory[None]).last_hidden_state[0, len(PROMPT):]
        loss = (1 - ctc_weight) * F.cross_entropy(head(rows), torch.tensor(labels + [EOS]), reduction="sum",
                                                  label_smoothing=0.1)
        if ctc_weight:
            loss = loss + ctc_weight * F.ctc_loss(
                ctc(memory)[:, None].log_softmax(-1), torch.tensor([labels], dtype=torch.long).reshape(1, -1),
                [len(frames)], [len(labels)], reduction="sum")
        losses.append(loss)
    sum(losses).backward()
    tensors = {"x": x, "losses": torch.stack(losses), "positions": positions}
    if make_decoder is whisper:
        tensors["d decoder.text.positions"] = positions.grad
    for key, parts in named.items():
        tensors[key] = torch.cat(parts)
        tensors["d " + key] = torch.cat([torch.zeros_like(p) if p.grad is None else p.grad for p in parts])
    save(f"attention_decoder_{name}", {key: t.detach().float() for key, t in tensors.items()} | dict(
        lengths=torch.tensor([f for f, _ in UTTERANCES]), labels=torch.tensor(sum((l for _, l in UTTERANCES), [])),
        label_counts=torch.tensor([len(l) for _, l in UTTERANCES])))


def make(save):
    make_one("whisper", whisper, CTC_WEIGHT, save)
    make_one("canary", canary, 0, save)
