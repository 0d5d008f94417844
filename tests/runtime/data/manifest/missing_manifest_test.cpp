#include "runtime/data/manifest/missing_manifest.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/runtime/manifest_folder.h"

namespace penstock::runtime {
namespace {

class MissingManifest : public testing::Test, protected test::ManifestFolder {};

TEST_F(MissingManifest, IsToldByItsNeighbours) {
  put("Corpus/train.tsv", "");
  put("Corpus/dev.tar.gz", "");
  const auto said = [&](const std::string& name) { return describe_missing_manifest(in(name)); };
  EXPECT_EQ(said("Corpus/TRAIN.tsv"), "no such file or folder; did you mean train.tsv?");
  EXPECT_EQ(said("Corpus/trian.tsv"), "no such file or folder; did you mean train.tsv?");
  EXPECT_EQ(said("Corpus/other"), "no such file or folder");
  EXPECT_EQ(said("Corpus/dev"), "no such file or folder, but " + in("Corpus/dev.tar.gz").string() +
                                    " is there: unpack it, by tar -xf " +
                                    in("Corpus/dev.tar.gz").string());
  EXPECT_EQ(said("corpus/x/train.tsv"), "no such file or folder: there is no corpus in " +
                                            in("").parent_path().string() +
                                            "; did you mean Corpus?");
}

TEST_F(MissingManifest, RecordingsAreToldByFolderLinkAndExtension) {
  put("a/1.wav", "");
  std::filesystem::create_symlink("/gone.wav", in("a/2.wav"));
  EXPECT_EQ(describe_missing_recording(in("a/1.mp3")), "no such file, but 1.wav is there");
  EXPECT_EQ(describe_missing_recording(in("a/3.mp3")), "no such file");
  EXPECT_EQ(describe_missing_recording(in("a/2.wav")),
            "no such file: it is a link to /gone.wav, which does not exist");
  EXPECT_EQ(describe_missing_recording(in("b/c/3.wav")),
            "no such file, nor is there a folder " + in("b").string());
  EXPECT_EQ(describe_missing_recording("no-such-file.wav"), "no such file");
}

/// The system refuses long names whoever asks; it refuses folders without permission likewise, but
/// not to root.
TEST_F(MissingManifest, SaysWhyThePathCannotBeRead) {
  const std::filesystem::path refused = in(std::string(300, 'x')) / "a.wav";
  EXPECT_EQ(describe_missing_recording(refused), "can't be read: File name too long");
  EXPECT_EQ(describe_missing_manifest(refused), "can't be read: File name too long");
  put("locked/a/1.wav", "");
  const auto set = [&](std::filesystem::perms rights) {
    std::filesystem::permissions(in("locked"), rights);
  };
  set(std::filesystem::perms::none);
  const bool opens = exists_at(in("locked/a/1.wav"));
  const std::string said = describe_missing_recording(in("locked/a/2.wav"));
  set(std::filesystem::perms::owner_all);
  EXPECT_EQ(said, opens ? "no such file" : "can't be read: Permission denied");
}

TEST_F(MissingManifest, IsThereIfItIs) {
  EXPECT_TRUE(exists_at(put("a", "")));
  EXPECT_FALSE(exists_at(in("b")));
}

}  // namespace
}  // namespace penstock::runtime
