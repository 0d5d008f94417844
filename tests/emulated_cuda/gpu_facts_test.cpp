// These tests run gpu_facts (tools/gpu/facts/) on the emulated libraries, whose lists are known.

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tools/gpu/facts/facts.h"

namespace emulated_cuda::test {
namespace {

using namespace penstock::layers;
using namespace penstock::tools;

/// Rows without those above them, each as its words.
using Rows = std::vector<std::vector<std::string>>;

template <class Tell>
Rows rows_of(const Tell& tell) {
  Rows rows;
  tell([&rows](const std::string& line) {
    if (line.starts_with("#")) return;
    std::istringstream words(line);
    rows.emplace_back(std::istream_iterator<std::string>(words),
                      std::istream_iterator<std::string>());
  });
  return rows;
}

auto having(const std::string& word) {
  return [word](const auto& row) { return std::ranges::find(row, word) != row.end(); };
}

Rows chosen(const Rows& rows, const std::string& word) {
  Rows found;
  std::ranges::copy_if(rows, std::back_inserter(found), having(word));
  return found;
}

Rows of_convolution(std::int64_t channels) {
  const ConvolutionCase of{.name = "small",
                           .geometry = {.in_channels = channels,
                                        .out_channels = 8,
                                        .frequency = {3, 1, 1},
                                        .time = {3, 2, 1},
                                        .in_frequencies = 5,
                                        .lengths = {}},
                           .lengths = {9, 4}};
  return rows_of([&](const Say& say) { tell_convolutions({of}, say); });
}

TEST(GpuFacts, TellEveryAlgorithmOfAConvolution) {
  const Rows rows = of_convolution(8);  // five algorithms with each math type, in three passes
  EXPECT_EQ(chosen(chosen(rows, "f32"), "FMA").size(), 15u);
  EXPECT_EQ(chosen(chosen(rows, "f32"), "TENSOR_OP").size(), 15u);  // in TF32
  EXPECT_EQ(chosen(chosen(rows, "f16"), "TENSOR_OP").size(), 15u);
  EXPECT_EQ(chosen(chosen(rows, "f16"), "DEFAULT").size(), 15u);
  EXPECT_EQ(chosen(chosen(rows, "bf16"), "TENSOR_OP").size(), 15u);
  EXPECT_EQ(rows.size(), 75u);
  for (const char* const pass : {"forward", "input", "filter"})
    EXPECT_EQ(chosen(rows, pass).size(), 25u);
  // One of five does not repeat its results, one wants too much, one is none.
  EXPECT_EQ(chosen(rows, "NON_DETERMINISTIC").size(), 15u);
  EXPECT_EQ(chosen(rows, "1099511627776").size(), 15u);
  const Rows none = chosen(rows, "CUDNN_STATUS_NOT_SUPPORTED");
  EXPECT_EQ(none.size(), 15u);
  EXPECT_EQ(chosen(none, "-").size(), 15u);
  EXPECT_EQ(chosen(rows, "1048576").size(), 45u);
}

TEST(GpuFacts, TellWhereAConvolutionHasNoAlgorithm) {
  const Rows rows = of_convolution(3);
  EXPECT_EQ(chosen(chosen(rows, "bf16"), "no").size(), 3u);
  EXPECT_EQ(chosen(rows, "bf16").size(), 3u);
  EXPECT_EQ(chosen(rows, "f16").size(), 15u);
}

TEST(GpuFacts, AreOfDeepSpeech2sConvolutions) {
  const Rows rows =
      rows_of([](const Say& say) { tell_convolutions(convolutions_of_models(), say); });
  EXPECT_EQ(chosen(chosen(rows, "41x11"), "f32").size(), 15u);
  EXPECT_EQ(chosen(chosen(rows, "21x11"), "f16").size(), 30u);
}

TEST(GpuFacts, TellWhatTheHeuristicSaysOfProducts) {
  const auto backend = make_cuda_backend();
  const std::vector<ProductCase> cases = {{"with.bias", DType::f16, DType::f16, 3, 8, 16, 1, true},
                                          {"batch", DType::bf16, DType::f32, 1, 16, 8, 2, false},
                                          {"odd", DType::f16, DType::f16, 1, 7, 16, 1, false}};
  const Rows rows = rows_of([&](const Say& say) { tell_products(*backend, cases, {1, 5}, say); });
  for (const char* const name : {"with.bias", "batch"}) {
    const Rows of_case = chosen(rows, name);
    ASSERT_EQ(of_case.size(), 6u) << name;  // three of them for each number of utterances
    EXPECT_EQ(chosen(of_case, "CUBLAS_STATUS_NOT_SUPPORTED").size(), 2u);
    EXPECT_EQ(chosen(of_case, "1.00").size(), 4u) << "a product is an operation of a microsecond";
    EXPECT_EQ(chosen(of_case, "1048576").size(), 6u);
  }
  EXPECT_EQ(chosen(rows, "with.bias").back()[3], "15");  // rows
  EXPECT_EQ(chosen(rows, "odd").size(), 2u);
  EXPECT_EQ(chosen(chosen(rows, "odd"), "no").size(), 2u);
}

TEST(GpuFacts, TellHowLongAttentionTakes) {
  const auto backend = make_cuda_backend();
  const std::vector<AttentionCase> cases = {{DType::bf16, 1, 16, false},
                                            {DType::bf16, 1, 16, true}};
  const Rows rows = rows_of([&](const Say& say) {
    tell_attention(*backend, cases, {3, 7}, 7, say);
  });
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(chosen(rows, "plain").size(), 2u);
  EXPECT_EQ(rows[0][4], "2");  // utterances
  EXPECT_EQ(rows[1][4], "1");
  for (const auto& row : rows) {
    ASSERT_EQ(row.size(), 10u);
    for (const std::size_t column : {6, 8}) EXPECT_GE(std::stod(row[column]), 1) << row[0];
  }
}

TEST(GpuFacts, TellHowLongATimeStepTakes) {
  const auto backend = make_cuda_backend();
  const RecurrenceCase of{
      .name = "small", .dtype = DType::f32, .hidden = 8, .frames = 2, .more_frames = 5};
  const Rows rows = rows_of([&](const Say& say) { tell_times(*backend, of, {3, 17}, say); });
  ASSERT_EQ(rows.size(), 1u + 4 + 6);
  const auto device = [&rows](const std::string& what, std::size_t place) {
    return chosen(rows, what).at(place).back();
  };
  EXPECT_EQ(device("empty", 0), "1.00");
  for (const std::size_t pass : {0, 1}) {
    EXPECT_EQ(device("fused", pass), "1.00");
    EXPECT_EQ(device("products", pass), "2.00");
    EXPECT_EQ(device("gates:", pass), "1.00");
  }
  for (const auto& row : chosen(rows, "empty")) EXPECT_GT(std::stod(row[row.size() - 2]), 0);
}

}  // namespace
}  // namespace emulated_cuda::test
