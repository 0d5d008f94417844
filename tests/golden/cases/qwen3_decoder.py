"""A whole decoder with tied embeddings as transformers' Qwen3ForCausalLM computes it, after frames of audio that stand
before its text: two blocks with norms of queries and keys, Qwen3's epsilon, and one table for the embedding and the
head. The loss is that of token_cross_entropy.py. The table's gradient is the sum of both layers'. In FP64."""
import torch
import torch.nn.functional as F
from transformers import Qwen3Config, Qwen3ForCausalLM

WIDTH, CLASSES, PROMPT, BOS, EOS = 12, 23, [7, 4], 1, 2
UTTERANCES = [(6, [3, 22, 0, 3]), (1, []), (4, [5, 5])]  # frames, labels


def named(model):
    """Yields each tensor under penstock's name: q, k and v as one product, and so the gate and what it gates."""
    yield "decoder.text.weight", [model.model.embed_tokens.weight]
    for i, layer in enumerate(model.model.layers, 1):
        attention, mlp = f"decoder.block{i}.attention", f"decoder.block{i}.feed_forward"
        own = layer.self_attn
        yield f"{attention}.norm.weight", [layer.input_layernorm.weight]
        yield f"{attention}.qkv.weight", [own.q_proj.weight, own.k_proj.weight, own.v_proj.weight]
        yield f"{attention}.qk_norm.q.weight", [own.q_norm.weight]
        yield f"{attention}.qk_norm.k.weight", [own.k_norm.weight]
        yield f"{attention}.output.weight", [own.o_proj.weight]
        yield f"{mlp}.norm.weight", [layer.post_attention_layernorm.weight]
        yield f"{mlp}.linear1.weight", [layer.mlp.gate_proj.weight, layer.mlp.up_proj.weight]
        yield f"{mlp}.linear2.weight", [layer.mlp.down_proj.weight]
    yield "decoder.norm.weight", [model.model.norm.weight]


def make(save):
    config = Qwen3Config(vocab_size=CLASSES, hidden_size=WIDTH, num_hidden_layers=2, num_attention_heads=4,
                         num_key_value_heads=2, head_dim=6, intermediate_size=15, rms_norm_eps=1e-6,
                         tie_word_embeddings=True, attn_implementation="eager",
                         rope_parameters={"rope_type": "default", "rope_theta": 1e6})
    model = Qwen3ForCausalLM(config).double()
    assert model.lm_head.weight is model.model.embed_tokens.weight
    for p in model.parameters():
        p.data = 0.5 * torch.randn(p.shape).double()
    lengths = [frames for frames, _ in UTTERANCES]
    x = torch.randn(sum(lengths), WIDTH).double().requires_grad_()
    losses = []
    for frames, (_, labels) in zip(x.split(lengths), UTTERANCES):
        text = model.model.embed_tokens(torch.tensor(PROMPT + [BOS] + labels))
        hidden = model.model(inputs_embeds=torch.cat([frames, text])[None]).last_hidden_state[0]
        logits = model.lm_head(hidden[-len(labels) - 1:])
        losses.append(F.cross_entropy(logits, torch.tensor(labels + [EOS]), reduction="sum"))
    torch.stack(losses).sum().backward()
    tensors = {"x": x, "dx": x.grad}
    for name, weights in named(model):
        tensors |= {name: torch.cat(weights), f"d {name}": torch.cat([w.grad for w in weights])}
    save("qwen3_decoder", {name: t.float() for name, t in tensors.items()} | dict(
        losses=torch.stack(losses), lengths=torch.tensor(lengths),
        labels=torch.tensor(sum((labels for _, labels in UTTERANCES), [])),
        label_counts=torch.tensor([len(labels) for _, labels in UTTERANCES])))
