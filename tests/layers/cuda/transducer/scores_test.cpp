#include "layers/ops/transducer.h"
#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

/// Tokens, durations, frames and labels of a tile.
struct TileSize {
  std::int64_t tokens, durations, frames, labels;
};
constexpr TileSize kTiles[] = {{67, 0, 7, 3}, {29, 5, 5, 6}, {2, 3, 1, 0}, {300, 16, 9, 1}};

class CudaTransducerScores : public Parity {
 protected:
  /// Labels 1, 4, 9, … below the tokens.
  Twin labels(const TileSize& size) {
    std::vector<double> values;
    for (std::int64_t u = 1; u <= size.labels; ++u)
      values.push_back(static_cast<double>(1 + u * u % (size.tokens - 1)));
    return twin(DType::i32, {size.labels}, values);
  }
};

TEST_P(CudaTransducerScores, Forward) {
  for (const TileSize& size : kTiles) {
    const std::int64_t cells = size.frames * (size.labels + 1);
    const Twin logits = random(dtype(), {cells, size.tokens + size.durations}, -5, 5);
    const Twin of = labels(size), scores = unwritten(DType::f32, {cells, 2 + size.durations});
    run(TransducerScores{logits.cpu, of.cpu, size.tokens, 0.05, scores.cpu},
        TransducerScores{logits.cuda, of.cuda, size.tokens, 0.05, scores.cuda});
    const std::vector<double> own = on_device(scores.cuda), wanted = test::numbers(scores.cpu);
    for (std::size_t i = 0; i < own.size(); ++i)
      if (wanted[i] < -1e30)
        EXPECT_EQ(own[i], wanted[i]) << i;  // no label is left
      else
        EXPECT_NEAR(own[i], wanted[i], 1e-5) << i;
  }
}

TEST_P(CudaTransducerScores, LogitGradient) {
  for (const TileSize& size : kTiles) {
    const std::int64_t cells = size.frames * (size.labels + 1);
    const Twin logits = random(dtype(), {cells, size.tokens + size.durations}, -5, 5);
    const Twin of = labels(size), shares = random(DType::f32, {cells, 2 + size.durations}, 0, 1);
    run(TransducerLogitGradient{logits.cpu, of.cpu, size.tokens, shares.cpu, logits.cpu},
        TransducerLogitGradient{logits.cuda, of.cuda, size.tokens, shares.cuda, logits.cuda});
    expect_close(logits, tolerance(), "dlogits");
  }
}

PARITY_OF_ALL_TYPES(CudaTransducerScores);

}  // namespace
}  // namespace penstock::layers
