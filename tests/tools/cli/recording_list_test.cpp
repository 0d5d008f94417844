#include "tools/cli/recording_list.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::tools {
namespace {

std::vector<runtime::Recording> all_of(RecordingSources sources) {
  RecordingList list(std::move(sources));
  std::vector<runtime::Recording> all;
  while (auto recording = list.next()) all.push_back(*recording);
  EXPECT_FALSE(list.next());
  return all;
}

std::vector<std::string> paths_of(const RecordingSources& sources) {
  std::vector<std::string> paths;
  for (const runtime::Recording& recording : all_of(sources)) paths.push_back(recording.audio);
  return paths;
}

using Paths = std::vector<std::string>;

TEST(RecordingList, TakesItsSourcesInTurn) {
  const test::TemporaryFolder folder;
  const std::string first = (folder.path() / "first.jsonl").string();
  const std::string second = (folder.path() / "second.jsonl").string();
  test::write_file(first, "{\"audio_filepath\": \"c.wav\"}\n\n{\"audio_filepath\": \"/d.wav\"}");
  test::write_file(second, "{\"audio_filepath\": \"e.wav\", \"text\": \"ab\"}\r\n");
  std::istringstream paths("f.wav\r\n\ng h.wav");
  EXPECT_EQ(paths_of({{"a.wav", "b.wav"}, {first, second}, &paths}),
            (Paths{"a.wav", "b.wav", folder.path() / "c.wav", "/d.wav", folder.path() / "e.wav",
                   "f.wav", "g h.wav"}));
  EXPECT_EQ(paths_of({}), Paths{});
}

TEST(RecordingList, PathsMayEndWithZeroBytes) {
  std::istringstream paths(std::string("a\nb.wav\0c.wav\r\0", 15));
  EXPECT_EQ(paths_of({.paths = &paths, .separator = '\0'}), (Paths{"a\nb.wav", "c.wav\r"}));
}

TEST(RecordingList, LinesThatAreNoneHaveFaults) {
  const test::TemporaryFolder folder;
  const std::string name = (folder.path() / "list.jsonl").string();
  test::write_file(name,
                   "{\"audio_filepath\": \"a.wav\", \"offset\": 1.5, \"duration\": 2}\n"
                   "nonsense\n"
                   "{\"audio\": \"a.wav\"}\n"
                   "{\"audio_filepath\": \"a.wav\", \"offset\": \"1\"}\n"
                   "{\"audio_filepath\": \"a.wav\", \"offset\": null, \"duration\": 9}\n" +
                       std::string(1'000'000, '['));
  const auto all = all_of({.manifests = {name}});
  ASSERT_EQ(all.size(), 6u);
  ASSERT_TRUE(all[0].segment.has_value());
  EXPECT_EQ(all[0].segment->offset, 1.5);
  EXPECT_EQ(all[0].segment->duration, 2);
  EXPECT_EQ(all[1].fault, name + ":2: is not a JSON object");
  EXPECT_EQ(all[2].fault, name + ":3: has no \"audio_filepath\"");
  EXPECT_EQ(all[3].fault, name + ":4: its offset \"1\" is no number of seconds");
  EXPECT_FALSE(all[4].segment.has_value());
  EXPECT_EQ(all[4].fault, "");
  EXPECT_EQ(all[5].fault, name + ":6: nests deeper than 128");
  for (const char* gone : {"gone.jsonl", ""})
    EXPECT_THROW(all_of({.manifests = {(folder.path() / gone).string()}}), DataError);
}

TEST(RecordingList, HashFollowsFromEveryRecording) {
  const runtime::Recording a{"a.wav"}, b{"b.wav"};
  const runtime::Recording part{"a.wav", runtime::Segment{1, 2}};
  const auto hash = [](const std::vector<runtime::Recording>& all) {
    std::string found;
    for (const runtime::Recording& recording : all) found = chained_hash(found, recording);
    return found;
  };
  EXPECT_EQ(hash({a, b}), hash({a, b}));
  for (const auto& other : {std::vector{b, a}, {a}, {a, a}, {a, b, b}, {part, b}})
    EXPECT_NE(hash(other), hash({a, b}));
}

}  // namespace
}  // namespace penstock::tools
