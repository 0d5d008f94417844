#include "runtime/checkpoint/describe.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/file_handle.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/checkpoint/safetensors/safetensors_writer.h"
#include "tests/support/runtime/example_checkpoint.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;

TEST(Describe, ListsEveryBlockOfACheckpoint) {
  const TemporaryFolder output;
  const fs::path folder = test::save_example(output.path(), 10, 3);
  for (const fs::path& path : {folder, output.path()}) {
    const Description description = describe(open_checkpoint(path));
    ASSERT_TRUE(description.state);
    EXPECT_EQ(description.state->step, 10);
    std::int64_t elements = 0;
    for (const TensorPlace& place : description.tensors) {
      if (place.name != "output.weight") continue;
      EXPECT_EQ(place.dtype, "F16");
      EXPECT_EQ(place.shape, (std::vector<std::uint64_t>{3, 10001}));
      EXPECT_EQ(place.file.parent_path(), folder);
      EXPECT_EQ(*place.first, elements);
      EXPECT_EQ(place.end - place.begin,
                2 * static_cast<std::uint64_t>(*place.last - *place.first));
      elements = *place.last;
    }
    EXPECT_EQ(elements, 30003);
  }
}

TEST(Describe, ListsAFileOfAnyName) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "weights";
  std::int32_t number = 3;
  const auto layout = write_safetensors(
      path, std::vector<NamedTensor>{{"n", layers::Tensor{&number, layers::DType::i32, {1, 1}}}});
  const Description description = describe_file(path);
  EXPECT_FALSE(description.state);
  ASSERT_EQ(description.tensors.size(), 1u);
  EXPECT_EQ(description.tensors[0].name, "n");
  EXPECT_EQ(description.tensors[0].dtype, "I32");
  EXPECT_EQ(description.tensors[0].file, path);
  EXPECT_EQ(description.tensors[0].begin, layout.entries[0].begin);
  EXPECT_FALSE(description.tensors[0].first);
}

TEST(Describe, RejectsWhatIsNoSafetensorsFile) {
  const TemporaryFolder output;
  const fs::path folder = test::save_example(output.path(), 10, 3);
  EXPECT_THROW((void)describe_file(folder / "manifest.json"), CheckpointError);
  EXPECT_THROW((void)describe_file(output.path() / "missing"), FileError);
}

}  // namespace
}  // namespace penstock::runtime
