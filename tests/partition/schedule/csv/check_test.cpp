#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <regex>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "partition/schedule/csv/rows.h"
#include "partition/schedule/csv/schedule_csv.h"
#include "partition/schedule/make_schedule.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::partition {
namespace {

std::string check_message(const std::string& text) {
  return test::message_of<ConfigError>([&] { check_schedule_csv(text, "x"); });
}

TEST(ScheduleCsvCheck, AcceptsWhatIsWritten) {
  for (const std::string_view name : schedule_names()) {
    const Schedule schedule = make_schedule(name, 3, 5);
    EXPECT_EQ(check_schedule_csv(schedule_csv(schedule), "x").ranks, schedule.ranks) << name;
  }
}

TEST(ScheduleCsvCheck, NamesTheCellThatBreaks) {
  EXPECT_EQ(check_message("0F0,0F1,0W0,0B0,0B1,0W1\n1F0,1B0,1W0,1F1,1B1,1W1\n"),
            "x is not sound: row 1, column 3 (rank 0, backward weight of micro-batch 0 on chunk 0) "
            "must come after column 4 (backward input of micro-batch 0 on chunk 0)");
  // Transfers are put in between; idle cells and the parts of an overlap are counted as cells.
  EXPECT_EQ(check_message("0F0,0F1,0B0,0B1\n,1F0,,(1F1;1B1)OVERLAP_F_B,1B0\n"),
            "x is not sound: row 2, column 4 (rank 1, backward of micro-batch 1 on chunk 1) must "
            "come after column 5 (backward of micro-batch 0 on chunk 1)");
  EXPECT_EQ(check_message("0F0,0B0\n1F0,,1F0,1B0\n"),
            "x is not sound: row 2, column 3 (rank 1, forward of micro-batch 0 on chunk 1) is "
            "already at column 1 (forward of micro-batch 0 on chunk 1)");
  EXPECT_EQ(check_message("0F0,0B0\n1F0,1B0,1B0\n"),
            "x is not sound: row 2, column 3 (rank 1, backward of micro-batch 0 on chunk 1) is "
            "already at column 2 (backward of micro-batch 0 on chunk 1)");
  EXPECT_EQ(check_message("0F0,0BW0\n1F0,1BW0,1W0\n"),
            "x is not sound: row 2, column 3 (rank 1, backward weight of micro-batch 0 on chunk 1) "
            "has no purpose: both gradients come from column 2 (backward of micro-batch 0 on chunk "
            "1)");
  // With the transfers that it brings, of which one stands there already.
  EXPECT_EQ(check_message("0F0,0BW0\n1F0,1BW0,1B0,1W0\n"),
            "x is not sound: row 2, column 3 (rank 1, backward input of micro-batch 0 on chunk 1) "
            "has no purpose: both gradients come from column 2 (backward of micro-batch 0 on chunk "
            "1)");
  EXPECT_EQ(check_message("0F0,0B0\n1F0,0B0,1B0\n"),
            "x is not sound: row 2, column 2 (rank 1, backward of micro-batch 0 on chunk 0): this "
            "rank does not hold the chunk");
}

TEST(ScheduleCsvCheck, NamesTransfersByTheirCells) {
  // Rank 1 wants the gradient of what rank 0 has yet to do.
  EXPECT_EQ(check_message("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n"),
            "x is not sound: it hangs: row 1, column 2 (rank 0, backward of micro-batch 0 on chunk "
            "0) waits for row 2, after column 3 (rank 1, send gradient of micro-batch 0 on chunk "
            "1); row 2, column 2 (rank 1, forward of micro-batch 1 on chunk 1) waits for row 1, "
            "after column 3 (rank 0, send activation of micro-batch 1 on chunk 0)");
  // A message that the file lists itself is named by its cell.
  EXPECT_EQ(check_message("0F0,0SEND_F0,0RECV_B0,0BW0\n1F0,1RECV_F0,1BW0,1SEND_B0\n"),
            "x is not sound: row 2, column 1 (rank 1, forward of micro-batch 0 on chunk 1) must "
            "come after column 2 (receive activation of micro-batch 0 on chunk 1)");
}

TEST(ScheduleCsvCheck, NamesWhatLacksNotWhatFollowsFromIt) {
  const std::string lacks = "x is not sound: rank ";
  EXPECT_EQ(check_message("0F0,0F1\n1F0,1F1\n"),
            lacks + "0 lacks backward of micro-batch 0 on chunk 0");
  EXPECT_EQ(check_message("0F0,0B0\n1F0\n"),
            lacks + "1 lacks backward of micro-batch 0 on chunk 1");
  EXPECT_EQ(check_message("0F0,0B0\n1F0,1B0\n2F0\n"),
            lacks + "2 lacks backward of micro-batch 0 on chunk 2");
  EXPECT_EQ(check_message("0F0,0B0,0W0\n1F0,1B0\n"),
            lacks + "1 lacks backward weight of micro-batch 0 on chunk 1");
  EXPECT_EQ(check_message("0F0,0B0,0W0\n1F0,1W0\n"),
            lacks + "1 lacks backward input of micro-batch 0 on chunk 1");
}

/// Whatever is done to a sound file, the cells that a error_message names hold the actions that it
/// names.
TEST(ScheduleCsvCheck, NamesCellsThatHoldWhatItSays) {
  std::mt19937 random(7);
  const std::regex named(
      "(?:row (\\d+), )?column (\\d+) \\((?:rank \\d+, )?([a-z ]+) of "
      "micro-batch (\\d+) on chunk (\\d+)\\)");
  int refused = 0, places = 0;
  for (int round = 0; round < 400; ++round) {
    const auto names = schedule_names();
    std::string text = schedule_csv(make_schedule(names[round % names.size()], 3, 5));
    std::vector<std::size_t> commas;
    for (std::size_t i = 0; i < text.size(); ++i)
      if (text[i] == ',') commas.push_back(i);
    const auto cell = [&](std::size_t comma) {
      return text.substr(comma + 1, text.find_first_of(",\n", comma + 1) - comma - 1);
    };
    const std::size_t at = commas[random() % commas.size()],
                      from = commas[random() % commas.size()];
    text.replace(at + 1, cell(at).size(), "," + cell(from));
    std::string message = check_message(text);
    refused += message.empty() ? 0 : 1;
    const auto rows = message.empty() ? std::vector<std::vector<Cell>>{} : parse_rows(text, "x");
    int row = 0;
    for (std::smatch match; std::regex_search(message, match, named); message = match.suffix()) {
      if (match[1].matched) row = std::stoi(match[1]);
      const auto holds = [&](const Cell& other) {
        return other.column == std::stoi(match[2]) && other.chunk == std::stoi(match[5]) &&
               other.micro_batch == std::stoi(match[4]) &&
               (match[3] == "forward") == (other.kind == CellKind::F);
      };
      EXPECT_TRUE(std::ranges::any_of(rows.at(row - 1), holds)) << match.str() << "\n" << text;
      ++places;
    }
  }
  EXPECT_GT(refused, 300);
  EXPECT_GT(places, 100);
}

/// A table of all chunks and micro-batches that these cells name would take terabytes.
TEST(ScheduleCsvCheck, TakesNoMoreMemoryThanItsCells) {
  constexpr int kMany = 100'000;
  std::string text = "0F0,0B0";
  for (int i = 1; i < kMany; ++i) text += fmt::format(",{}F0,0F{}", i, i);
  EXPECT_EQ(check_message(text + "\n"),
            "x is not sound: rank 0 lacks forward of micro-batch 1 on chunk 1");
  EXPECT_EQ(check_message("0F0,0F2147483646\n"),
            "x is not sound: rank 0 lacks forward of micro-batch 1 on chunk 0");
}

TEST(ScheduleCsvCheck, NamesAFileThatIsNotThere) {
  EXPECT_THROW(check_schedule_file("/gone.csv"), ConfigError);
}

TEST(ReadScheduleFile, SplitsAllBackwardsOrNone) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "lists.csv";
  for (const std::string_view name : schedule_names()) {
    const Schedule schedule = make_schedule(name, 3, 5);
    test::write_file(file, schedule_csv(schedule));
    EXPECT_EQ(read_schedule_file(file, 3).ranks, schedule.ranks) << name;
  }
  test::write_file(file, "0F0,0F1,0I0,0W0,0BW1\n1F0,1BW0,1F1,1BW1\n");
  EXPECT_EQ(schedule_csv(read_schedule_file(file, 2)),
            "0F0,0F1,0B0,0W0,0B1,0W1\n1F0,1B0,1W0,1F1,1B1,1W1\n");
  EXPECT_EQ(test::message_of<ConfigError>([&] { read_schedule_file(file, 4); }),
            file.string() +
                ": has 2 rows, but pipeline.stages = 4: set it to 2, or name another schedule");
}

}  // namespace
}  // namespace penstock::partition
