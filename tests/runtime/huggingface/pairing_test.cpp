#include "runtime/huggingface/pairing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/huggingface/streams.h"

namespace penstock::runtime {
namespace {

/// Tables of one layer as any model may have them; no family is built for them.
Architecture example() {
  Architecture architecture;
  architecture.name = "Example";
  architecture.tensors = {
      {"1",
       {{.theirs = "conv",
         .ours = "conv",
         .columns = Columns::time_first,
         .axes = Axes::one_second},
        {.theirs = "linear",
         .ours = "linear",
         .columns = Columns::channel_first,
         .channels_of = "conv.bias"}}},
      {"2",
       {{"layers.{}.q", "block{}.qkv", Rows::queries},
        {"layers.{}.k", "block{}.qkv", Rows::keys},
        {"layers.{}.v", "block{}.qkv", Rows::values},
        {.theirs = "layers.{}.u", .ours = "block{}.u", .alone = true, .formerly = "old.{}.u"},
        {.theirs = "lstm_hh_l{}", .ours = "lstm{}", .axes = Axes::without_first, .alone = true}},
       {{.theirs = "layers.{}.count"}}},
      {"1", {{.theirs = "head", .ours = "output", .rows = Rows::labels, .axes = Axes::one_last}}}};
  return architecture;
}

ModelTensors example_tensors() {
  return {{"conv.weight", {2, 3, 5}},    {"conv.bias", {2}},
          {"linear.weight", {7, 6}},     {"linear.bias", {7}},
          {"block1.qkv.weight", {9, 4}}, {"block1.u", {4}},
          {"block2.qkv.weight", {9, 4}}, {"block2.u", {4}},
          {"lstm1", {1, 8, 2}},          {"lstm2", {1, 8, 2}},
          {"output.weight", {5, 4}},     {"output.bias", {5}}};
}

const TheirTensor& find(const Pairing& pairing, std::string_view name) {
  return *std::ranges::find(pairing.tensors, name, &TheirTensor::name);
}

TEST(Pairing, TakesPrefixesAndLeavesOutAbsentTensors) {
  Architecture architecture;
  architecture.tensors = {
      {.repeats = "2",
       .rules = {{.theirs = "norms.{}", .ours = "norm{}", .not_always = true},
                 {.theirs = "u.{}", .ours = "u{}", .alone = true, .formerly = "v.{}"},
                 {.theirs = "w.{}", .ours = "w{}", .alone = true, .not_always = true}},
       .kept = {{.theirs = "steps.{}"}},
       .prefix = "model."},
      {"1", {{"head", "output", Rows::labels}}}};
  const Pairing pairing =
      pair_tensors(architecture, {},
                   {{"norm1.weight", {2}}, {"u1", {3}}, {"u2", {3}}, {"output.weight", {5, 2}}});
  std::vector<std::string> names;
  for (const TheirTensor& tensor : pairing.tensors) names.push_back(tensor.name);
  EXPECT_EQ(names, (std::vector<std::string>{"model.norms.0.weight", "model.u.0", "model.u.1",
                                             "head.weight"}));
  EXPECT_EQ(find(pairing, "model.u.1").former, "model.v.1");
  EXPECT_EQ(find(pairing, "model.norms.0.weight").former, "");
  EXPECT_EQ(pairing.kept[1], "model.steps.1");
}

TEST(Pairing, DividesTheBiasThatKeysDoNotHave) {
  Architecture architecture;
  architecture.tensors = {{"1",
                           {{"q", "qkv", Rows::queries},
                            {"k", "qkv", Rows::keys},
                            {"v", "qkv", Rows::values},
                            {"memory.k", "kv", Rows::memory_keys},
                            {"memory.v", "kv", Rows::memory_values},
                            {.theirs = "head", .ours = "tied", .not_always = true}}}};
  const Pairing pairing = pair_tensors(architecture, {},
                                       {{"qkv.weight", {9, 4}},
                                        {"qkv.bias", {6}},
                                        {"kv.weight", {6, 4}},
                                        {"kv.bias", {3}},
                                        {"tied.bias", {5}}});
  std::vector<std::string> biases;
  for (const TheirTensor& tensor : pairing.tensors)
    if (tensor.name.ends_with("bias"))
      biases.push_back(fmt::format("{} {} {}", tensor.name, tensor.first_row, tensor.rows));
  EXPECT_EQ(biases, (std::vector<std::string>{"q.bias 0 3", "v.bias 3 3", "memory.v.bias 0 3",
                                              "head.bias 0 5"}));
  EXPECT_EQ(find(pairing, "memory.v.weight").first_row, 3);
}

TEST(Pairing, NumbersLayersAndSplitsRows) {
  const Pairing pairing = pair_tensors(example(), {}, example_tensors());
  const TheirTensor& keys = find(pairing, "layers.1.k.weight");
  EXPECT_EQ(keys.ours, "block2.qkv.weight");
  EXPECT_EQ(keys.shape, (layers::Shape{3, 4}));
  EXPECT_EQ(keys.first_row, 3);
  EXPECT_EQ(find(pairing, "layers.0.u").former, "old.0.u");
  EXPECT_EQ(find(pairing, "head.weight").shape, (layers::Shape{5, 4, 1}));
  EXPECT_EQ(find(pairing, "head.bias").shape, (layers::Shape{5}));
  EXPECT_EQ(pairing.kept, (std::vector<std::string>{"layers.0.count", "layers.1.count"}));
}

// The two products of a SwiGLU, of which the first half gates.
TEST(Pairing, SplitsRowsIntoHalves) {
  Architecture architecture;
  architecture.tensors = {{"1", {{"gate", "linear", Rows::gates}, {"up", "linear", Rows::gated}}}};
  const Pairing pairing = pair_tensors(architecture, {}, {{"linear.weight", {10, 3}}});
  EXPECT_EQ(find(pairing, "gate.weight").shape, (layers::Shape{5, 3}));
  EXPECT_EQ(find(pairing, "gate.weight").first_row, 0);
  EXPECT_EQ(find(pairing, "up.weight").shape, (layers::Shape{5, 3}));
  EXPECT_EQ(find(pairing, "up.weight").first_row, 5);
}

TEST(Pairing, TransposesImagesAndKernels) {
  const Pairing pairing = pair_tensors(example(), {}, example_tensors());
  const TheirTensor& kernel = find(pairing, "conv.weight");
  EXPECT_EQ(kernel.shape, (layers::Shape{2, 1, 5, 3}));
  EXPECT_EQ(kernel.columns[1], 5);       // their time 0, frequency 1 is our frequency 1, time 0
  EXPECT_EQ(kernel.columns[3 + 2], 11);  // time 1, frequency 2
  const TheirTensor& linear = find(pairing, "linear.weight");  // 2 channels of 3 frequencies
  EXPECT_EQ(linear.columns, (std::vector<std::int64_t>{0, 2, 4, 1, 3, 5}));
}

TEST(Pairing, LeavesNoTensorOut) {
  ModelTensors more = example_tensors();
  more["forgotten.weight"] = {1};
  EXPECT_THROW((void)pair_tensors(example(), {}, more), std::logic_error);
  ModelTensors fewer = example_tensors();
  fewer.erase("block2.u");
  EXPECT_THROW((void)pair_tensors(example(), {}, fewer), std::logic_error);
}

TEST(Streams, MoveTheBlankThereAndBack) {
  const Pairing pairing = pair_tensors(example(), {}, example_tensors());
  StoredNames stored;
  for (const TheirTensor& tensor : pairing.tensors) stored[tensor.name] = tensor.name;
  const auto rows = [](const std::vector<StreamedTensor>& streams, const std::string& name) {
    std::vector<std::int64_t> rows;
    for (const RowRun& run : std::ranges::find(streams, name, &StreamedTensor::name)->runs)
      for (std::int64_t i = 0; i < run.count; ++i) rows.push_back(run.first + i);
    return rows;
  };
  using Rows = std::vector<std::int64_t>;
  const auto ours = [&](std::int64_t blank) {
    return rows(our_tensors(pairing, example_tensors(), stored, blank), "output.weight");
  };
  const auto theirs = [&](std::int64_t blank) {
    return rows(their_tensors(pairing, blank, layers::DType::f32), "head.weight");
  };
  EXPECT_EQ(ours(0), (Rows{0, 1, 2, 3, 4}));
  EXPECT_EQ(ours(2), (Rows{2, 0, 1, 3, 4}));
  EXPECT_EQ(ours(4), (Rows{4, 0, 1, 2, 3}));
  EXPECT_EQ(theirs(0), (Rows{0, 1, 2, 3, 4}));
  EXPECT_EQ(theirs(2), (Rows{1, 2, 0, 3, 4}));
  EXPECT_EQ(theirs(4), (Rows{1, 2, 3, 4, 0}));
}

}  // namespace
}  // namespace penstock::runtime
