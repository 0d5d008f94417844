#include "runtime/huggingface/weights_folder.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "base/error.h"
#include "runtime/checkpoint/safetensors/safetensors_writer.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

class Weights : public testing::Test {
 protected:
  void write(const char* file, const std::vector<std::string>& names) {
    std::vector<NamedTensor> tensors;
    for (const std::string& name : names)
      tensors.push_back({name, {numbers_.data(), layers::DType::f32, {3}}});
    write_safetensors(folder() / file, tensors);
  }
  void write_index(std::string_view map) {
    test::write_file(folder() / "model.safetensors.index.json",
                     R"({"metadata": {"total_size": 1}, "weight_map": )" + std::string(map) + "}");
  }
  std::string fault() {
    return test::message_of<Error>([&] { WeightsFolder{folder()}; });
  }
  const std::filesystem::path& folder() const { return output_.path(); }

 private:
  test::TemporaryFolder output_;
  std::array<float, 3> numbers_ = {1, 2.5, -3};
};

TEST_F(Weights, MayLieInSeveralFiles) {
  write("model-1.safetensors", {"a.b", "c"});
  write("model-2.safetensors", {"d"});
  write_index(R"({"a.b": "model-1.safetensors", "c": "model-1.safetensors",
                  "d": "model-2.safetensors"})");
  const WeightsFolder weights(folder());
  EXPECT_EQ(weights.places().size(), 3u);
  std::array<float, 2> read = {};
  weights.read("a.b", 1, read);
  EXPECT_EQ(read, (std::array<float, 2>{2.5, -3}));
}

TEST_F(Weights, AreWidenedToFp32) {
  std::array<layers::Half, 2> f16 = {layers::to_half(0.5), layers::to_half(-65504)};
  std::array<layers::BFloat16, 2> bf16 = {layers::to_bfloat16(0.5), layers::to_bfloat16(1e30f)};
  const std::vector<NamedTensor> tensors = {{"f16", {f16.data(), layers::DType::f16, {2}}},
                                            {"bf16", {bf16.data(), layers::DType::bf16, {2}}}};
  write_safetensors(folder() / "model.safetensors", tensors);
  const WeightsFolder weights(folder());
  std::array<float, 2> read = {};
  weights.read("f16", 0, read);
  EXPECT_EQ(read, (std::array<float, 2>{0.5, -65504}));
  weights.read("bf16", 0, read);
  EXPECT_EQ(read[1], layers::to_float(bf16[1]));
}

TEST_F(Weights, AreMissedByName) {
  EXPECT_NE(fault().find("holds neither model.safetensors nor"), std::string::npos) << fault();
  write_index(R"({"a": "model-1.safetensors"})");
  EXPECT_NE(fault().find("model-1.safetensors"), std::string::npos);
  write("model-1.safetensors", {"b"});
  EXPECT_NE(fault().find("says that model-1.safetensors holds 'a'"), std::string::npos) << fault();
}

TEST_F(Weights, AreHeldOnceAndInTheFolder) {
  write("model-1.safetensors", {"a"});
  write("model-2.safetensors", {"a", "b"});
  write_index(R"({"a": "model-1.safetensors", "b": "model-2.safetensors"})");
  EXPECT_NE(fault().find("holds 'a', which an earlier file holds too"), std::string::npos);
  write_index(R"({"a": "../model-1.safetensors"})");
  EXPECT_NE(fault().find("none of its folder"), std::string::npos);
}

}  // namespace
}  // namespace penstock::runtime
