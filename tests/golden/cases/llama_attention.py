"""Attention of a decoder's block as transformers' LlamaAttention computes it, with its RMSNorm before and the residual
sum after it: rotary positions of another base, heads of k and v that heads of q share, and heads whose channels are not
the width divided by their number. In FP64."""
import torch
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaRMSNorm, LlamaRotaryEmbedding

LENGTHS, WIDTH = (7, 1, 13, 5, 70), 20


def make(save):
    config = LlamaConfig(hidden_size=WIDTH, num_attention_heads=4, num_key_value_heads=2, head_dim=6, rms_norm_eps=1e-5,
                         rope_parameters={"rope_type": "default", "rope_theta": 500.0}, attn_implementation="sdpa")
    attention, norm = LlamaAttention(config, 0).double(), LlamaRMSNorm(WIDTH, eps=1e-5).double()
    rotary = LlamaRotaryEmbedding(config)
    for p in [*attention.parameters(), *norm.parameters()]:
        p.data = torch.randn(p.shape).double()
    x = torch.randn(sum(LENGTHS), WIDTH).double().requires_grad_()
    outs = []
    for u in x.split(LENGTHS):
        positions = rotary(u[None], torch.arange(len(u))[None])
        outs.append(u + attention(norm(u)[None], positions, attention_mask=None)[0][0])
    y = torch.cat(outs)
    dy = torch.randn(y.shape).double()
    y.backward(dy)
    projections = [attention.q_proj.weight, attention.k_proj.weight, attention.v_proj.weight]
    numbers = {"norm.weight": norm.weight, "output.weight": attention.o_proj.weight}
    tensors = {"lengths": torch.tensor(LENGTHS), "x": x, "y": y, "dx": x.grad, "dy": dy,
               "qkv.weight": torch.cat(projections), "dqkv.weight": torch.cat([p.grad for p in projections])}
    tensors |= numbers | {f"d{key}": n.grad for key, n in numbers.items()}
    save("llama_attention", {key: t if key == "lengths" else t.float() for key, t in tensors.items()})
