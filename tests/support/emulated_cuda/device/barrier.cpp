#include "tests/support/emulated_cuda/device/barrier.h"

#include "tests/support/emulated_cuda/grid.h"
#include "tests/support/emulated_cuda/watch.h"

using namespace emulated_cuda;

void __syncthreads(int line) {
  const Unobserved unobserved;
  running_block().sync(line);
}

void __syncwarp(unsigned mask, int line) {
  const Unobserved unobserved;
  Thread& self = *running_block().threads.current();
  running_block().warp_of(self).meet({"__syncwarp", mask, line}, 0);
  if (mask == ~0u) ++self.warp_syncs;
}
