#include "layers/ops/embedding.h"

#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

class CudaEmbedding : public Parity {
 protected:
  /// Returns an id for each row, among 29 rows and none. Some occur once, and one occurs in every
  /// third position.
  Twin ids(std::int64_t positions) {
    std::vector<double> values;
    for (std::int64_t p = 0; p < positions; ++p)
      values.push_back(p % 3 == 1 ? 5 : static_cast<double>(p * p % 30) - 1);
    return twin(DType::i32, {positions}, values);
  }
};

TEST_P(CudaEmbedding, Forward) {
  for (std::int64_t rows : kRows)
    for (std::int64_t channels : {35, 64}) {
      const Twin of = ids(rows), table = random(dtype(), {29, channels});
      const Twin y = unwritten(dtype(), {rows, channels});
      run(EmbeddingForward{of.cpu, table.cpu, y.cpu},
          EmbeddingForward{of.cuda, table.cuda, y.cuda});
      expect_close(y, 0, "y");
    }
}

TEST_P(CudaEmbedding, BackwardWeight) {
  for (std::int64_t rows : kRows) {
    const Twin of = ids(rows), dy = random(dtype(), {rows, 259});
    const Twin dtable = random(DType::f32, {29, 259});
    run(EmbeddingBackwardWeight{of.cpu, dy.cpu, dtable.cpu},
        EmbeddingBackwardWeight{of.cuda, dy.cuda, dtable.cuda});
    expect_close(dtable, 0, "dtable");  // sums are FP32 in the same order
  }
}

PARITY_OF_ALL_TYPES(CudaEmbedding);

}  // namespace
}  // namespace penstock::layers
