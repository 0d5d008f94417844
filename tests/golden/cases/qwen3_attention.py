"""Attention of a decoder's block as transformers' Qwen3Attention computes it, with its RMSNorm before and the residual
sum after it: as llama_attention.py has it, with a norm of each head of queries and keys before rotary positions. All
norms have Qwen3's epsilon, and some rows are so small that it matters. In FP64."""
import torch
from transformers import Qwen3Config
from transformers.models.qwen3.modeling_qwen3 import Qwen3Attention, Qwen3RMSNorm, Qwen3RotaryEmbedding

LENGTHS, WIDTH, EPSILON = (7, 1, 13, 5, 70), 20, 1e-6


def make(save):
    config = Qwen3Config(hidden_size=WIDTH, num_attention_heads=4, num_key_value_heads=2, head_dim=6,
                         rms_norm_eps=EPSILON, attn_implementation="sdpa",
                         rope_parameters={"rope_type": "default", "rope_theta": 500.0})
    attention, norm = Qwen3Attention(config, 0).double(), Qwen3RMSNorm(WIDTH, eps=EPSILON).double()
    rotary = Qwen3RotaryEmbedding(config)
    for p in [*attention.parameters(), *norm.parameters()]:
        p.data = torch.randn(p.shape).double()
    x = torch.randn(sum(LENGTHS), WIDTH).double()
    x[2] *= 1e-3
    x.requires_grad_()
    outs = []
    for u in x.split(LENGTHS):
        positions = rotary(u[None], torch.arange(len(u))[None])
        outs.append(u + attention(norm(u)[None], positions, attention_mask=None)[0][0])
    y = torch.cat(outs)
    dy = torch.randn(y.shape).double()
    y.backward(dy)
    projections = [attention.q_proj.weight, attention.k_proj.weight, attention.v_proj.weight]
    numbers = {"norm.weight": norm.weight, "output.weight": attention.o_proj.weight,
               "qk_norm.q.weight": attention.q_norm.weight, "qk_norm.k.weight": attention.k_norm.weight}
    tensors = {"lengths": torch.tensor(LENGTHS), "x": x, "y": y, "dx": x.grad, "dy": dy,
               "qkv.weight": torch.cat(projections), "dqkv.weight": torch.cat([p.grad for p in projections])}
    tensors |= numbers | {f"d{key}": n.grad for key, n in numbers.items()}
    save("qwen3_attention", {key: t if key == "lengths" else t.float() for key, t in tensors.items()})
