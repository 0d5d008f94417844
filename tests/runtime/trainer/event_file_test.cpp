#include "runtime/trainer/event_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/devices/rank_info.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

/// The events of a file without what frames them. Wall times are skipped too.
std::vector<std::string> events_in(const std::filesystem::path& file) {
  const std::string bytes = test::read_file(file);
  std::vector<std::string> events;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto length = static_cast<std::size_t>(static_cast<unsigned char>(bytes[at])) +
                        256 * static_cast<std::size_t>(static_cast<unsigned char>(bytes[at + 1]));
    const std::string event = bytes.substr(at + 12, length);
    EXPECT_EQ(bytes.substr(at, length + 16), framed(event));
    events.push_back(event.substr(9));
    at += length + 16;
  }
  return events;
}

std::string untimed(const std::string& event) { return event.substr(9); }

TEST(EventFile, WritesEachNumberInItsGroup) {
  const test::TemporaryFolder folder;
  EventFile file(folder.path(), {});
  StepReport step{.step = 3, .epoch = 1, .loss = 0.5, .learning_rate = 1e-3, .gradient_norm = 2};
  step.skipped = true;
  file.write(step);
  file.write(EvaluationReport{.step = 3, .utterances = 9, .loss = 0.25, .wer = 0.125});
  const auto events = events_in(file.path());
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[2], untimed(scalar_event({1, 3}, {{"train/epoch", 1},
                                                     {"train/loss", 0.5},
                                                     {"train/learning_rate", 1e-3},
                                                     {"train/gradient_norm", 2},
                                                     {"train/utterances", 0},
                                                     {"train/audio_seconds", 0},
                                                     {"train/audio_seconds_per_second", 0},
                                                     {"train/step_seconds", 0},
                                                     {"train/skipped", 1}})));
  EXPECT_EQ(events[3], untimed(scalar_event({1, 3}, {{"validation/loss", 0.25},
                                                     {"validation/wer", 0.125},
                                                     {"validation/cer", 0},
                                                     {"validation/utterances", 9},
                                                     {"validation/skipped_utterances", 0},
                                                     {"validation/seconds", 0}})));
}

TEST(EventFile, BeginsWithTheMarkOfItsStart) {
  const test::TemporaryFolder folder;
  const EventFile file(folder.path(), {.last_step = 40, .recipe = "a = 1\nb = 2\n"});
  EXPECT_EQ(
      events_in(file.path()),
      (std::vector<std::string>{untimed(version_event(1)), untimed(restart_event({1, 41})),
                                untimed(text_event({1, 41}, "recipe", "    a = 1\n    b = 2\n"))}));
}

/// TensorBoard reads files in the order of their names.
TEST(EventFile, SortsAfterThoseOfEarlierStarts) {
  const test::TemporaryFolder folder;
  test::write_file(folder.path() / "events.out.tfevents.odd", "");
  test::write_file(folder.path() / "metrics.jsonl", "");
  std::vector<std::filesystem::path> made;
  for (int start = 0; start < 3; ++start) made.push_back(EventFile(folder.path(), {}).path());
  auto listed = list_event_files(folder.path());
  ASSERT_EQ(listed.size(), 4u);
  listed.pop_back();  // the odd one
  EXPECT_EQ(listed, made);
  test::write_file(folder.path() / "events.out.tfevents.8888888888.host.1.0", "");
  EXPECT_EQ(EventFile(folder.path(), {}).path().filename().string(),
            fmt::format("events.out.tfevents.8888888889.{}.{}.0", machine_name(), ::getpid()));
}

TEST(EventFile, RefusesAFolderThatIsMissing) {
  const test::TemporaryFolder folder;
  EXPECT_THROW(EventFile(folder.path() / "none", {}), FileError);
}

}  // namespace
}  // namespace penstock::runtime
