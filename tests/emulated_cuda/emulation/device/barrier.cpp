#include "tests/emulated_cuda/emulation/device/barrier.h"

#include "tests/emulated_cuda/emulation/grid.h"
#include "tests/emulated_cuda/emulation/watch.h"

using namespace emulated_cuda;

void __syncthreads(int line) {
  const Unobserved unobserved;
  running_block().sync(line);
}

void __syncwarp(unsigned mask, int line) {
  const Unobserved unobserved;
  Thread& self = *running_block().threads.current();
  running_block().warp_of(self).meet({"__syncwarp", mask, line}, {});
  if (mask == ~0u) ++self.warp_syncs;
}
