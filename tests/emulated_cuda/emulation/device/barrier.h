#pragma once

// The line, which the caller leaves out, names the barrier where threads of a block differ.
void __syncthreads(int line = __builtin_LINE());
void __syncwarp(unsigned mask = ~0u, int line = __builtin_LINE());
