#include "runtime/data/manifest/lhotse_recording.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/runtime/manifest_folder.h"

namespace penstock::runtime {
namespace {

using test::expect_parts, test::message_of, test::read;

class LhotseRecordingTest : public testing::Test, protected test::ManifestFolder {
 protected:
  /// Returns a cut of a recording with these sources and these further fields.
  static std::string cut(const std::string& sources, const std::string& more = "") {
    return R"({"type": "MonoCut", "start": 0, "duration": 1, "channel": 0, "supervisions": )"
           R"([{"id": "s", "start": 0, "duration": 1, "text": "t"}], "recording": {"sources": )" +
           sources + more + "}}\n";
  }
  static std::string of_file(const std::string& path) {
    return cut(R"([{"type": "file", "channels": [0], "source": ")" + path + "\"}]",
               R"(, "duration": 2)");
  }
};

TEST_F(LhotseRecordingTest, PathsStartBesideTheManifest) {
  put("m/audio/a.wav", "");
  const auto entries = read(put("m/c.jsonl", of_file("audio/a.wav") + of_file("/b.wav")));
  EXPECT_EQ(entries[0].audio, in("m/audio/a.wav"));
  EXPECT_EQ(entries[1].audio, "/b.wav");
}

/// Lhotse's recipes write paths that start where they ran. The first recording shows it.
TEST_F(LhotseRecordingTest, PathsMayStartInTheWorkingFolder) {
  put("download/a.wav", "");
  const auto manifest =
      put("data/manifests/c.jsonl", of_file("download/a.wav") + of_file("download/b.wav"));
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(in(""));
  const auto entries = read(manifest);
  std::filesystem::current_path(before);
  EXPECT_EQ(entries[0].audio, "download/a.wav");
  EXPECT_EQ(entries[1].audio, "download/b.wav");
}

TEST_F(LhotseRecordingTest, RecordingsWithoutAFileAreRefused) {
  expect_parts(
      error_message("c.jsonl", cut("[]", R"(, "duration": 2)") +
                                   cut(R"([{"type": "file", "channels": [0]}])") +
                                   cut(R"([{"type": "memory", "channels": [0], "source": "x"}])") +
                                   cut(R"([{"type": "file", "source": "a.wav"}])") +
                                   cut(R"([{"type": "file", "source": "a.wav"}])",
                                       R"(, "duration": 1, "transforms": [{"x": 1}])")),
      {"5 faults", "c.jsonl:1: its recording has no \"sources\"",
       ":2: its recording names no \"source\"",
       ":3: its recording has a source of type \"memory\", but \"file\" or \"url\" is needed",
       ":4: its recording has no \"duration\" above 0 seconds",
       ":5: Lhotse changes its recording by {\"x\":1} while it loads"});
}

TEST_F(LhotseRecordingTest, UrlsAreToldFromPaths) {
  expect_parts(error_message("c.jsonl", of_file("s3://bucket/a.wav")),
               {"names s3://bucket/a.wav, but URLs are not read here"});
}

}  // namespace
}  // namespace penstock::runtime
