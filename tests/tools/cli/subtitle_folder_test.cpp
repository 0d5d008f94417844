#include "tools/cli/subtitle_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::tools {
namespace {

const std::vector<runtime::TimedWord> kWords = {{"yes", 0, 0.25, 1}};

std::string at_second(int second) {
  return "00:00:0" + std::to_string(second) + ",000 --> 00:00:0" + std::to_string(second + 1) +
         ",000\nyes\n\n";
}

TEST(SubtitleFolder, GathersTheSegmentsOfARecording) {
  const test::TemporaryFolder folder;
  const SubtitleOptions options{(folder.path() / "new" / "subtitles").string()};
  SubtitleFolder subtitles(options);
  subtitles.add("audio/call.wav", 0, kWords);
  subtitles.add("audio/call.wav", 4, kWords);
  subtitles.add("other/call.wav", 1, kWords);
  subtitles.add("other/call.wav", 0, kWords);  // goes back
  subtitles.add("audio/silence.flac", 0, {});
  subtitles.finish();
  subtitles.finish();
  EXPECT_EQ(subtitles.files(), 4);
  const auto file = [&](const std::string& name) {
    return test::read_file(std::filesystem::path(options.folder) / name);
  };
  EXPECT_EQ(file("call.srt"), "1\n" + at_second(0) + "2\n" + at_second(4));
  EXPECT_EQ(file("call-2.srt"), "1\n" + at_second(1));
  EXPECT_EQ(file("call-3.srt"), "1\n" + at_second(0));
  EXPECT_EQ(file("silence.srt"), "");
}

TEST(SubtitleFolder, IsNewOrEmpty) {
  const test::TemporaryFolder folder;
  const auto refused = [](const std::filesystem::path& path) {
    return test::message_of<ConfigError>([&] { check_subtitle_folder({path.string()}); });
  };
  EXPECT_NO_THROW(check_subtitle_folder({}));
  EXPECT_NO_THROW(check_subtitle_folder({folder.path().string()}));
  EXPECT_NO_THROW(check_subtitle_folder({(folder.path() / "new").string()}));
  test::write_file(folder.path() / "file", "");
  EXPECT_NE(refused(folder.path()).find("is not empty"), std::string::npos);
  EXPECT_NE(refused(folder.path() / "file").find("is no folder"), std::string::npos);
  EXPECT_THROW(SubtitleFolder({(folder.path() / "file" / "new").string()}), ConfigError);
}

}  // namespace
}  // namespace penstock::tools
