#include "tests/emulated_cuda/emulation/grid.h"

#include "tests/emulated_cuda/emulation/device/indices.h"
#include "tests/emulated_cuda/emulation/watch.h"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace emulated_cuda {
namespace {

/// Holds what runs now: CUDA's words (threadIdx, __syncthreads) take no argument that could carry
/// it.
struct Running {
  const Launch* launch = nullptr;
  Order* order = nullptr;
  unsigned block_number = 0;
};
Running running;

void run_threads() {
  for (;;) {
    watch().observe(true);
    running.launch->call->run();
    watch().observe(false);
    running_block().end_thread();
  }
}

template <class Index>
std::string text_of(const Index& index) {
  return "(" + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " +
         std::to_string(index.z) + ")";
}

}  // namespace

void run_grid(const Launch& launch, Order& order) {
  running.launch = &launch;
  running.order = &order;
  gridDim = launch.blocks;
  blockDim = launch.threads;
  const unsigned x = gridDim.x, y = gridDim.y, count = x * y * gridDim.z;
  for (int block : order.arrange(static_cast<int>(count))) {
    const auto place = static_cast<unsigned>(block);
    blockIdx = {place % x, place / x % y, place / (x * y)};
    ++running.block_number;
    running_block().run(launch.threads, launch.dynamic_shared_bytes, order);
  }
  running.launch = nullptr;
}

Block& running_block() {
  static Block block(run_threads);
  return block;
}

Order& running_order() { return *running.order; }

unsigned block_number() { return running.block_number; }

bool in_kernel() {
  return running.launch != nullptr && running_block().threads.current() != nullptr;
}

std::string position_in_kernel() {
  if (running.launch == nullptr) return "";
  std::string text = "\n  in kernel " + watch().name_of(running.launch->kernel) + ", block " +
                     text_of(blockIdx) + " of " + text_of(gridDim);
  if (in_kernel()) text += ", thread " + text_of(threadIdx) + " of " + text_of(blockDim);
  return text;
}

}  // namespace emulated_cuda
