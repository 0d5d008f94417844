#include "layers/ops/span_mask.h"

#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

struct TwinMask {
  SpanMask cpu, cuda;
};

class CudaSpanMask : public Parity {
 protected:
  /// Masks every third frame of five utterances, and some channels of each if told.
  TwinMask mask(std::int64_t rows, std::int64_t columns, bool channels) {
    std::vector<double> codes, masked;
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto utterance = static_cast<double>(5 * row / rows);
      codes.push_back(row % 3 == 1 ? -1 - utterance : utterance);
    }
    for (std::int64_t i = 0; i < 5 * columns; ++i) masked.push_back(i * i % 7 == 2 ? 1 : 0);
    const Twin frames = twin(DType::i32, {rows}, codes);
    if (!channels) return {{frames.cpu, {}}, {frames.cuda, {}}};
    const Twin bands = twin(DType::i32, {5, columns}, masked);
    return {{frames.cpu, bands.cpu}, {frames.cuda, bands.cuda}};
  }
};

TEST_P(CudaSpanMask, Forward) {
  for (std::int64_t rows : kRows)
    for (std::int64_t columns : {35, 64}) {
      const TwinMask masks = mask(rows, columns, columns == 35);
      const Twin x = random(dtype(), {rows, columns}), embedding = random(dtype(), {columns});
      const Twin y = unwritten(dtype(), {rows, columns});
      run(SpanMaskForward{x.cpu, embedding.cpu, y.cpu, masks.cpu},
          SpanMaskForward{x.cuda, embedding.cuda, y.cuda, masks.cuda});
      expect_close(y, 0, "y");
    }
}

TEST_P(CudaSpanMask, BackwardInput) {
  for (std::int64_t rows : kRows)
    for (std::int64_t columns : {35, 64}) {
      const TwinMask masks = mask(rows, columns, columns == 35);
      const Twin dy = random(dtype(), {rows, columns}), dx = unwritten(dtype(), {rows, columns});
      run(SpanMaskBackwardInput{dy.cpu, dx.cpu, masks.cpu},
          SpanMaskBackwardInput{dy.cuda, dx.cuda, masks.cuda});
      expect_close(dx, 0, "dx");
    }
}

TEST_P(CudaSpanMask, BackwardWeight) {
  for (std::int64_t rows : kRows) {
    const TwinMask masks = mask(rows, 259, rows > 1);
    const Twin dy = random(dtype(), {rows, 259}), dembedding = random(DType::f32, {259});
    run(SpanMaskBackwardWeight{dy.cpu, dembedding.cpu, masks.cpu},
        SpanMaskBackwardWeight{dy.cuda, dembedding.cuda, masks.cuda});
    expect_close(dembedding, 0, "dembedding");  // sums are FP32 in the same order
  }
}

PARITY_OF_ALL_TYPES(CudaSpanMask);

}  // namespace
}  // namespace penstock::layers
