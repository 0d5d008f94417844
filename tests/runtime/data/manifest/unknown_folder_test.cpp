#include "runtime/data/manifest/unknown_folder.h"

#include <gtest/gtest.h>

#include <string>

#include "runtime/data/manifest/manifest_formats.h"
#include "tests/support/runtime/manifest_folder.h"

namespace penstock::runtime {
namespace {

using test::expect_parts, test::message_of;

class UnknownFolder : public testing::Test, protected test::ManifestFolder {
 protected:
  std::string refusal(const std::string& name) const {
    return message_of<DataError>([&] { refuse_folder(in(name), files_below(in(name))); });
  }
};

TEST_F(UnknownFolder, PrefersListsOfTraining) {
  put("c/a_recordings_train.jsonl", "");
  put("c/dev.tsv", "");
  expect_parts(refusal("c"), {"name a single one, such as ", "c/dev.tsv"});
  put("c/z/train.tsv", "");
  expect_parts(refusal("c"), {"name a single one, such as ", "c/z/train.tsv"});
}

TEST_F(UnknownFolder, TakesPlainJsonLastAndByName) {
  put("c/a_test.json", "");
  put("c/config.json", "");
  put("c/trainer_state.json", "");
  put("c/z_train_manifest.json", "");
  expect_parts(refusal("c"), {"name a single one, such as ", "c/z_train_manifest.json"});
  put("c/z/dev.tsv", "");
  expect_parts(refusal("c"), {"name a single one, such as ", "c/z/dev.tsv"});
  put("d/package.json", "");
  expect_parts(refusal("d"), {"List its recordings in a manifest"});
}

TEST_F(UnknownFolder, LooksAboveForWhatListsItsRecordings) {
  put("x/en/audio/train/1.wav", "");
  put("x/en/train.tsv", "");
  expect_parts(refusal("x/en/audio/train"), {"has 1 recording, but", "perhaps ", "x/en/train.tsv"});
  expect_parts(refusal("x/en/audio/"), {"perhaps ", "x/en/train.tsv"});
  put("y/en/more/train/1.wav", "");
  put("y/en/train.tsv", "");
  expect_parts(refusal("y/en/more/train"), {"List its recordings in a manifest"});
}

TEST_F(UnknownFolder, SaysWhatToUnpackOrConvert) {
  put("a/1.zip", "");
  expect_parts(refusal("a"),
               {"this folder has no transcripts that are known. Unpack its archives, ", "by unzip ",
                "a/1.zip"});
  put("b/2.parquet", "");
  expect_parts(refusal("b"), {"by tools/parquet_manifest NAME.jsonl ", "b/*.parquet"});
  put("c/1.txt", "");
  expect_parts(refusal("c"), {"has texts, but no recordings"});
}

}  // namespace
}  // namespace penstock::runtime
