#include "layers/ops/lookahead.h"

#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

class CudaLookahead : public Parity {
 protected:
  static constexpr std::int64_t kChannels = 35;
  /// Shorter than most utterances, and longer than all of them.
  static constexpr std::int64_t kContexts[] = {6, 20};

  Twin frames() { return random(dtype(), {26, kChannels}); }
  Twin no_frames() { return unwritten(dtype(), {26, kChannels}); }
  std::span<std::byte> workspace(std::int64_t context) {
    return host_memory(lookahead_workspace(kChannels, context, DType::f32));
  }

  const std::vector<std::int64_t> lengths_ = {7, 1, 13, 5};
};

TEST_P(CudaLookahead, Forward) {
  for (std::int64_t context : kContexts) {
    const Twin x = frames(), y = no_frames(), weight = random(dtype(), {kChannels, context});
    run(LookaheadForward{x.cpu, y.cpu, weight.cpu, lengths_, workspace(context)},
        LookaheadForward{x.cuda, y.cuda, weight.cuda, lengths_, {}});
    expect_close(y, tolerance(), "y");
  }
}

TEST_P(CudaLookahead, BackwardInput) {
  for (std::int64_t context : kContexts) {
    const Twin dy = frames(), dx = no_frames(), weight = random(dtype(), {kChannels, context});
    run(LookaheadBackwardInput{dy.cpu, dx.cpu, weight.cpu, lengths_, workspace(context)},
        LookaheadBackwardInput{dy.cuda, dx.cuda, weight.cuda, lengths_, {}});
    expect_close(dx, tolerance(), "dx");
  }
}

TEST_P(CudaLookahead, BackwardWeight) {
  for (std::int64_t context : kContexts) {
    const Twin x = frames(), dy = frames(), d_weight = random(DType::f32, {kChannels, context});
    for (int micro_batch = 0; micro_batch < 2; ++micro_batch)
      run(LookaheadBackwardWeight{x.cpu, dy.cpu, d_weight.cpu, lengths_, workspace(context)},
          LookaheadBackwardWeight{x.cuda, dy.cuda, d_weight.cuda, lengths_, {}});
    expect_close(d_weight, 1e-5, "d_weight");  // FP32 sums whatever the inputs
  }
}

PARITY_OF_ALL_TYPES(CudaLookahead);

}  // namespace
}  // namespace penstock::layers
