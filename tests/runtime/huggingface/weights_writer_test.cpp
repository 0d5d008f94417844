#include "runtime/huggingface/weights_writer.h"

#include <gtest/gtest.h>

#include <numeric>

#include "runtime/huggingface/weights_folder.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

std::vector<StreamedTensor> three_tensors() {
  std::vector<StreamedTensor> tensors;
  for (const char* name : {"a", "b", "c"}) {
    tensors.push_back({.name = name, .shape = {5}});
    tensors.back().runs = {{"source", 0, 5}};
  }
  return tensors;
}

void count_up(const std::string&, std::int64_t begin, std::span<float> out) {
  std::iota(out.begin(), out.end(), static_cast<float>(begin));
}

TEST(WeightsWriter, WritesOneFileWhereItFits) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(write_weight_files(folder.path(), three_tensors(), 60, count_up), 1);
  const SafetensorsFile file(folder.path() / "model.safetensors");
  EXPECT_EQ(file.entries().size(), 3u);
  EXPECT_EQ(file.metadata().at("format"), "pt");
}

TEST(WeightsWriter, SharesTensorsOutOverFiles) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(write_weight_files(folder.path(), three_tensors(), 59, count_up), 2);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "model-00002-of-00002.safetensors"));
  const WeightsFolder weights(folder.path());
  ASSERT_EQ(weights.places().size(), 3u);
  std::vector<float> last(5);
  weights.read("c", 0, last);
  EXPECT_EQ(last.back(), 4);
}

TEST(WeightsWriter, GivesLargeTensorsFilesOfTheirOwn) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(write_weight_files(folder.path(), three_tensors(), 1, count_up), 3);
}

}  // namespace
}  // namespace penstock::runtime
