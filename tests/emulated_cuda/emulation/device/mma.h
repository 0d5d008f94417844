#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

// c += a · b of a warp: 16×16 by 16×8, each lane with its part as PTX's mma.m16n8k16 has it. The
// last argument says what numbers the operands' 16 bits are.
void mma_m16n8k16(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2], __half,
                  int line = __builtin_LINE());
void mma_m16n8k16(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2], __nv_bfloat16,
                  int line = __builtin_LINE());

// The same of 16×8 by 8×8 numbers in TF32, as mma.m16n8k8: it looks at no more of a number than its
// upper 19 bits.
void mma_m16n8k8(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                 int line = __builtin_LINE());
