#include "runtime/huggingface/folder_files.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file_handle.h"
#include "runtime/huggingface/import.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

TEST(TextFile, IsReadWhole) {
  const test::TemporaryFolder folder;
  test::write_file(folder.path() / "a", "some\ntext");
  EXPECT_EQ(text_of_file(folder.path() / "a"), "some\ntext");
  EXPECT_THROW((void)text_of_file(folder.path() / "b"), FileError);
}

TEST(TextFile, IsThereOrNot) {
  const test::TemporaryFolder folder;
  test::write_file(folder.path() / "a", "");
  EXPECT_TRUE(is_there(folder.path() / "a"));
  EXPECT_FALSE(is_there(folder.path() / "b"));
  const auto no_name = folder.path() / std::string(4000, 'c');  // longer than file systems allow
  EXPECT_NE(
      test::message_of<CheckpointError>([&] { (void)is_there(no_name); }).find("can't be examined"),
      std::string::npos);
}

TEST(KeptLabels, GoWithTheLabels) {
  const test::TemporaryFolder output;
  for (const char* name : {"wav2vec2_for_ctc", "parakeet_for_ctc"}) {
    const auto imported = output.path() / name;
    import_model(test::source(std::string("tests/golden/") + name), imported);
    const Checkpoint checkpoint(imported);
    EXPECT_TRUE(keeps_labels(checkpoint));
    const PassthroughParts left = without_labels(read_kept(checkpoint));
    ASSERT_EQ(left.files.size(), 2u);
    EXPECT_EQ(left.files[0].file, "huggingface/config.json");
    EXPECT_EQ(left.files[1].file, "huggingface/preprocessor_config.json");
    EXPECT_EQ(left.tensors.empty(), std::string_view(name) == "wav2vec2_for_ctc");
  }
  EXPECT_FALSE(
      keeps_labels(Checkpoint(test::source("tests/golden/checkpoint_0.1/checkpoint-000000004"))));
}

}  // namespace
}  // namespace penstock::runtime
