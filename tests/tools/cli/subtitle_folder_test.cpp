#include "tools/cli/subtitle_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
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
  make_subtitle_folder(options, {});
  SubtitleFolder subtitles(options);
  subtitles.add("audio/call.wav", 0, kWords);
  subtitles.add("audio/call.wav", 4, kWords);
  subtitles.add("other/call.wav", 1, kWords);
  subtitles.add("other/call.wav", 1, kWords);  // again
  subtitles.add("audio/silence.flac", 0, {});
  subtitles.finish();
  subtitles.finish();
  EXPECT_EQ(subtitles.files(), 4);
  const auto file = [&](const std::string& name) {
    return test::read_file(std::filesystem::path(options.folder) / name);
  };
  EXPECT_EQ(file("call.srt"), "1\n" + at_second(0) + "2\n" + at_second(4));
  EXPECT_EQ(file("call-2.srt"), "1\n" + at_second(1));
  EXPECT_EQ(file("call-3.srt"), "1\n" + at_second(1));
  EXPECT_EQ(file("silence.srt"), "");
}

TEST(SubtitleFolder, NamesFilesAsTheRecordings) {
  const test::TemporaryFolder folder;
  const SubtitleOptions options{.folder = folder.path().string(), .format = "vtt"};
  SubtitleFolder subtitles(options);
  std::string umlauts;
  for (int i = 0; i < 120; ++i) umlauts += "ü";
  for (const std::string& audio :
       {std::string("shards/a.tar:512+33:talks/one.flac"),
        std::string("https://host/two.wav?X-Amz-Signature=secret"), umlauts + ".wav"})
    subtitles.add(audio, 0, kWords);
  subtitles.finish();
  std::set<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(folder.path()))
    names.insert(file.path().filename().string());
  EXPECT_EQ(names, (std::set<std::string>{"one.vtt", "two.vtt", umlauts.substr(0, 200) + ".vtt"}));
}

TEST(SubtitleFolder, IsNewOrEmpty) {
  const test::TemporaryFolder folder;
  const auto refused = [](const std::filesystem::path& path,
                          const std::vector<NamedFile>& outputs = {}) {
    return test::message_of<ConfigError>([&] { make_subtitle_folder({path.string()}, outputs); });
  };
  const std::filesystem::path fresh = folder.path() / "new";
  EXPECT_NO_THROW(make_subtitle_folder({}, {}));
  EXPECT_NO_THROW(make_subtitle_folder({fresh.string()}, {{"--output", "texts.jsonl"}}));
  EXPECT_NO_THROW(make_subtitle_folder({fresh.string()}, {}));
  EXPECT_NE(refused(fresh, {{"--output", fresh / "call.srt"}}).find("name a file elsewhere"),
            std::string::npos);
  test::write_file(folder.path() / "file", "");
  EXPECT_NE(refused(folder.path()).find("is not empty"), std::string::npos);
  EXPECT_NE(refused(folder.path() / "file").find("can't use"), std::string::npos);
  EXPECT_NE(refused(folder.path() / "file" / "new").find("can't use"), std::string::npos);
}

}  // namespace
}  // namespace penstock::tools
