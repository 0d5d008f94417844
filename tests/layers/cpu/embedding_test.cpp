#include "layers/ops/embedding.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "layers/backend.h"
#include "tests/support/layers/tensors.h"

namespace penstock::layers {
namespace {

using Floats = std::vector<float>;

class Embedding : public testing::Test {
 protected:
  template <class Operation>
  void run(const Operation& operation) {
    backend_->run(*stream_, operation);
  }

  std::vector<std::int32_t> ids_ = {-1, 2, 0, 2, -1, 2};
  Tensor ids_P{ids_.data(), DType::i32, {6}};

 private:
  std::unique_ptr<Backend> backend_ = make_cpu_backend();
  std::unique_ptr<Stream> stream_ = backend_->make_stream();
};

TEST_F(Embedding, GathersRowsAndZeros) {
  Floats table = {1, 2, 3, 4, 5, 6, 7, 8, 9}, y(18, -1);
  run(EmbeddingForward{ids_P, {table.data(), DType::f32, {3, 3}}, {y.data(), DType::f32, {6, 3}}});
  EXPECT_EQ(y, (Floats{0, 0, 0, 7, 8, 9, 1, 2, 3, 7, 8, 9, 0, 0, 0, 7, 8, 9}));
}

TEST_F(Embedding, GathersHalvesExactly) {
  std::vector<std::uint16_t> table(9), y(18);
  const Tensor table_VE{table.data(), DType::bf16, {3, 3}}, y_PE{y.data(), DType::bf16, {6, 3}};
  test::assign(table_VE, test::uniform(9, 1));
  run(EmbeddingForward{ids_P, table_VE, y_PE});
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_EQ(y[c], 0);
    EXPECT_EQ(y[3 + c], table[6 + c]);
  }
}

// In FP32, 1 + 2^25 - 2^25 is 0 in the order of positions, and 1 in any other that adds 1 last.
TEST_F(Embedding, AddsGradientsInTheOrderOfPositions) {
  Floats dy = {9, 9, 0x1p25f, 1, 5, 6, -0x1p25f, 2, 9, 9, 3, 4};
  Floats dtable = {10, 20, 30, 40, 1, 60};
  run(EmbeddingBackwardWeight{
      ids_P, {dy.data(), DType::f32, {6, 2}}, {dtable.data(), DType::f32, {3, 2}}});
  EXPECT_EQ(dtable, (Floats{15, 26, 30, 40, 3, 67}));
}

TEST(EmbeddingIds, AreRowsOrNone) {
  EXPECT_NO_THROW(expect_ids(std::vector<std::int32_t>{-1, 0, 4}, 5));
  EXPECT_THROW(expect_ids(std::vector<std::int32_t>{-2}, 5), ShapeError);
  EXPECT_THROW(expect_ids(std::vector<std::int32_t>{5}, 5), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
