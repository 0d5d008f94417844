#include "layers/cpu/halves/widening.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/layers/tensors.h"

namespace penstock::layers {
namespace {

using test::assign;
using test::numbers;

/// Nine halves to read, seven to write, and two aligned rooms to lend for their copies.
class WideningTest : public testing::Test {
 protected:
  static constexpr std::size_t kRoom = 2 * kAlignment;

  WideningTest() {
    assign(read_, std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9});
    assign(written_, std::vector<double>(7, -1));
  }
  void widen(std::span<std::byte> workspace) {
    const WorkspaceScope lending(*stream_, workspace);
    Widening widening(backend_, *stream_);
    Tensor read = read_, written = written_;
    widening.reads(read);
    widening.writes(written);
    EXPECT_EQ(read.dtype, DType::f32);
    EXPECT_EQ(numbers(read), numbers(read_));
    places_ = {static_cast<std::byte*>(read.data), static_cast<std::byte*>(written.data)};
    assign(written, std::vector<double>{1.00390625, 2, 3, 4, 5, 6, 7});
    widening.round();
  }

  CpuBackend backend_{1};
  std::unique_ptr<Stream> stream_ = backend_.make_stream({});
  Buffer halves_ = host_buffer(kRoom), workspace_ = host_buffer(kRoom + kAlignment);
  Tensor read_{halves_.data(), DType::bf16, {9}};
  Tensor written_{halves_.data() + kAlignment, DType::bf16, {7}};
  std::vector<std::byte*> places_;
};

TEST_F(WideningTest, TakesTheEndOfWhatWasLent) {
  widen({workspace_.data(), kRoom + 63});  // of which 63 bytes are after the last boundary
  EXPECT_EQ(places_, (std::vector{workspace_.data() + kAlignment, workspace_.data()}));
  EXPECT_EQ(numbers(written_), (std::vector<double>{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(stream_->lent().data(), nullptr);
}

TEST_F(WideningTest, NeverTakesMoreThanWasLent) {
  for (const std::size_t bytes : {kRoom - 1, kAlignment, std::size_t{0}})
    EXPECT_THROW(widen({workspace_.data(), bytes}), ShapeError) << bytes;
}

TEST_F(WideningTest, HasOwnMemoryWhereNothingWasLent) {
  widen({});
  EXPECT_EQ(numbers(written_), (std::vector<double>{1, 2, 3, 4, 5, 6, 7}));
}

}  // namespace
}  // namespace penstock::layers
