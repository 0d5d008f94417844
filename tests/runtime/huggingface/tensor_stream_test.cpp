#include "runtime/huggingface/tensor_stream.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

/// Element i of any source is i.
void read_places(const std::string&, std::int64_t begin, std::span<float> out) {
  std::iota(out.begin(), out.end(), static_cast<float>(begin));
}

template <class Number>
std::vector<Number> streamed(const StreamedTensor& tensor, std::size_t* pieces = nullptr) {
  TensorStream stream(read_places);
  const layers::Tensor handle = tensor.handle();
  std::vector<Number> numbers(handle.bytes() / sizeof(Number));
  for (std::size_t begin = 0; begin < handle.bytes();) {
    const auto piece = stream.bytes(handle, begin);
    std::memcpy(reinterpret_cast<char*>(numbers.data()) + begin, piece.data(), piece.size());
    begin += piece.size();
    if (pieces != nullptr) ++*pieces;
  }
  return numbers;
}

TEST(TensorStream, PutsRunsBehindEachOther) {
  StreamedTensor tensor{.name = "x", .shape = {3, 2}, .columns = 2};
  tensor.runs = {{"a", 2, 1}, {"a", 0, 2}};
  EXPECT_EQ(streamed<float>(tensor), (std::vector<float>{4, 5, 0, 1, 2, 3}));
}

TEST(TensorStream, PutsColumnsInOrder) {
  StreamedTensor tensor{.name = "x", .shape = {2, 3}, .columns = 3};
  tensor.runs = {{"a", 0, 2}};
  tensor.order = {2, 0, 1};
  EXPECT_EQ(streamed<float>(tensor), (std::vector<float>{2, 0, 1, 5, 3, 4}));
}

TEST(TensorStream, RoundsToHalves) {
  StreamedTensor tensor{.name = "x", .dtype = layers::DType::bf16, .shape = {3}};
  tensor.runs = {{"a", 256, 3}};  // 257 lies between two: the even one is 256
  const auto halves = streamed<layers::BFloat16>(tensor);
  EXPECT_EQ(layers::to_float(halves[1]), 256);
  EXPECT_EQ(layers::to_float(halves[2]), 258);
}

TEST(TensorStream, RefusesNumbersThatNothingHolds) {
  const auto fault = [](layers::DType dtype, float number) {
    StreamedTensor tensor{.name = "x", .dtype = dtype, .shape = {1}};
    tensor.runs = {{"their.weight", 0, 1}};
    TensorStream stream(
        [&](const std::string&, std::int64_t, std::span<float> out) { out.front() = number; });
    return test::message_of<CheckpointError>([&] { (void)stream.bytes(tensor.handle(), 0); });
  };
  EXPECT_EQ(fault(layers::DType::f16, 65504), "");
  EXPECT_EQ(fault(layers::DType::bf16, 1e6), "");
  EXPECT_EQ(fault(layers::DType::f16, -1e6),
            "'their.weight' holds -1000000, but fp16 ends at 65504: choose bf16 or fp32");
  EXPECT_NE(fault(layers::DType::f32, NAN).find("'their.weight' holds nan"), std::string::npos);
}

// Memory does not grow with the tensor.
TEST(TensorStream, ReadsLongTensorsInPieces) {
  StreamedTensor tensor{.name = "x", .shape = {7, 500'001}, .columns = 500'001};
  tensor.runs = {{"a", 0, 7}};
  std::size_t pieces = 0;
  const auto numbers = streamed<float>(tensor, &pieces);
  EXPECT_EQ(pieces, 4u);
  EXPECT_EQ(numbers.back(), 7 * 500'001 - 1);
}

}  // namespace
}  // namespace penstock::runtime
