#include "runtime/onnx/model_file.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/support/runtime/onnx_model.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;

std::vector<float> numbers_from(int first, int count) {
  std::vector<float> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(static_cast<float>(first + i));
  return numbers;
}

/// A graph that adds two large constants and a small one to its input.
OnnxGraph sums() {
  OnnxGraph graph;
  graph.input({"x", {std::int64_t{300}}});
  ValueName y = graph.node("Add", {"x", graph.constant("first", {300}, numbers_from(0, 300))});
  y = graph.node("Add", {y, graph.constant("second", {300}, numbers_from(1000, 300))});
  y = graph.node("Add", {y, graph.real(7)});
  graph.output(y, {"y", {std::int64_t{300}}});
  return graph;
}

TEST(ModelFile, HoldsTheGraphAndItsConstants) {
  const test::TemporaryFolder folder;
  const fs::path file = folder.path() / "model.onnx";
  EXPECT_EQ(write_model_file(file, sums(), {.metadata = {{"rate", "8000"}}}), 1);
  const test::OnnxModel model = test::read_onnx(file);
  EXPECT_EQ(model.ir_version, 8);
  EXPECT_EQ(model.opset, 17);
  EXPECT_EQ(model.metadata.at("rate"), "8000");
  EXPECT_TRUE(model.faults().empty());
  EXPECT_EQ(model.nodes.size(), 4U);
  EXPECT_EQ(model.constant("second").floats(), numbers_from(1000, 300));
  EXPECT_EQ(model.constant("second").shape, layers::Shape{300});
  EXPECT_FALSE(fs::exists(file.string() + ".data"));
}

TEST(ModelFile, HasLargeConstantsInASecondFile) {
  const test::TemporaryFolder folder;
  const fs::path file = folder.path() / "model.onnx";
  EXPECT_EQ(write_model_file(file, sums(), {.metadata = {}, .max_bytes = 2000}), 2);
  const test::OnnxModel model = test::read_onnx(file);
  EXPECT_TRUE(model.faults().empty());
  EXPECT_EQ(model.constant("f32:7").floats(), std::vector<float>{7});
  const test::OnnxTensor& second = model.constant("second");
  EXPECT_TRUE(second.bytes.empty());
  EXPECT_EQ(second.external.at("location"), "model.onnx.data");
  EXPECT_EQ(second.external.at("offset"), "4096");
  EXPECT_EQ(second.external.at("length"), "1200");
  const std::string data = test::read_file(file.string() + ".data");
  ASSERT_EQ(data.size(), 4096U + 1200U);
  test::OnnxTensor read;
  read.bytes = data.substr(4096);
  EXPECT_EQ(read.floats(), numbers_from(1000, 300));
}

/// A message names the size of its constants first, in a file or in two.
TEST(ModelFile, RefusesAConstantOfAnotherSize) {
  for (const std::uint64_t max_bytes : {std::uint64_t{2000}, kMaxModelBytes})
    for (const std::size_t bytes : {1199U, 1201U}) {
      const test::TemporaryFolder folder;
      OnnxGraph graph = sums();
      (void)graph.constant(
          {"broken", layers::DType::f32, {300}, [bytes] { return std::vector<std::byte>(bytes); }});
      EXPECT_THROW(write_model_file(folder.path() / "model.onnx", graph,
                                    {.metadata = {}, .max_bytes = max_bytes}),
                   std::logic_error);
      EXPECT_TRUE(fs::is_empty(folder.path()));
    }
}

TEST(ModelFile, LeavesNothingAfterAFailure) {
  const test::TemporaryFolder folder;
  OnnxGraph graph = sums();
  (void)graph.constant({"broken", layers::DType::f32, {1}, []() -> std::vector<std::byte> {
                          throw std::runtime_error("no such tensor");
                        }});
  EXPECT_THROW(write_model_file(folder.path() / "model.onnx", graph), std::runtime_error);
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

}  // namespace
}  // namespace penstock::runtime
