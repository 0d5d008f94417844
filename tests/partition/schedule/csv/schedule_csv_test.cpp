#include "partition/schedule/csv/schedule_csv.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "partition/schedule/make_schedule.h"
#include "partition/schedule/validator/validator.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::partition {
namespace {

using Kind = ActionKind;

std::string error_message(const std::string& text) {
  return test::message_of<ConfigError>([&] { validate(parse_schedule_csv(text, "some.csv")); });
}

std::vector<Action> computation(const std::string& text, std::size_t rank = 0) {
  const Schedule schedule = parse_schedule_csv(text, "some.csv");
  std::vector<Action> list;
  for (const Action& action : schedule.ranks.at(rank))
    if (computes(action.kind)) list.push_back(action);
  return list;
}

TEST(ScheduleCsv, IsReadAsItWasWritten) {
  for (const std::string_view name : schedule_names()) {
    for (const int batches : {1, 3, 8}) {
      const Schedule schedule = make_schedule(name, 3, batches);
      const Schedule read = parse_schedule_csv(schedule_csv(schedule), schedule.name);
      EXPECT_EQ(read.ranks, schedule.ranks) << name;
      EXPECT_EQ(read.chunk_rank, schedule.chunk_rank) << name;
      EXPECT_EQ(read.micro_batches, batches);
    }
  }
}

TEST(ScheduleCsv, IsWrittenInThreeLettersOrTwo) {
  EXPECT_EQ(schedule_csv(make_schedule("1f1b", 2, 2)),
            "0F0,0F1,0BW0,0BW1\n"
            "1F0,1BW0,1F1,1BW1\n");
  EXPECT_EQ(schedule_csv(make_schedule("zb-h1", 2, 2)),
            "0F0,0F1,0B0,0W0,0B1,0W1\n"
            "1F0,1B0,1F1,1B1,1W0,1W1\n");
}

TEST(ScheduleCsv, WhatBMeansDependsOnTheOtherLetters) {
  using List = std::vector<Action>;
  const Action forward{Kind::forward, 0, 0};
  EXPECT_EQ(computation("0F0,0B0"), (List{forward, {Kind::backward, 0, 0}}));
  EXPECT_EQ(computation("0F0,0BW0"), (List{forward, {Kind::backward, 0, 0}}));
  EXPECT_EQ(computation("0F0,0B0,0W0"),
            (List{forward, {Kind::backward_input, 0, 0}, {Kind::backward_weight, 0, 0}}));
  EXPECT_EQ(computation("0F0,,0F1, 0I0 ,0W0,0B1\r\n"), (List{forward,
                                                             {Kind::forward, 0, 1},
                                                             {Kind::backward_input, 0, 0},
                                                             {Kind::backward_weight, 0, 0},
                                                             {Kind::backward, 0, 1}}));
  EXPECT_EQ(computation("0F0,(0F1;0B0)OVERLAP_F_B,0B1"),
            (List{forward, {Kind::forward, 0, 1}, {Kind::backward, 0, 0}, {Kind::backward, 0, 1}}));
}

TEST(ScheduleCsv, TransfersThatItHoldsStay) {
  const std::string text =
      "0F0,0SEND_F0,0RECV_B0,0BW0\n"
      "1RECV_F0,1F0,1BW0,1SEND_B0\n";
  EXPECT_EQ(error_message(text), "");
  EXPECT_EQ(parse_schedule_csv(text, "x").ranks[0],
            (std::vector<Action>{{Kind::forward, 0, 0},
                                 {Kind::send_activation, 0, 0},
                                 {Kind::receive_gradient, 0, 0},
                                 {Kind::backward, 0, 0},
                                 {Kind::reduce, 0},
                                 {Kind::step}}));
  EXPECT_NE(error_message("0F0,0SEND_F0,0RECV_B0,0BW0\n1F0,1BW0,1SEND_B0\n"), "");
}

TEST(ScheduleCsv, SaysWhatCannotBeRead) {
  EXPECT_EQ(error_message("0F0,0B0\n1F0,1X0").substr(0, 45),
            "some.csv: row 2, column 2: \"1X0\" is no action");
  for (const char* cell : {"F0", "0F", "0", "0F0;0F1", "(0F0;0F1)", "0F99999999999", "0f0", "-1F0",
                           "0 F0", "(0F0)OVER"})
    EXPECT_NE(error_message(std::string("0F0,") + cell).find("column 2"), std::string::npos)
        << cell;
  EXPECT_EQ(error_message(""), "some.csv: holds no actions");
  EXPECT_EQ(error_message("0F0,0B0\n2F0,2B0\n"),
            "some.csv: no row has an action of stage 1, but row 2 has one of stage 2");
}

TEST(ScheduleCsv, BadListsAreReadAndThenRejected) {
  EXPECT_EQ(error_message("0F0,0F1,0B0,0B1\n1F0,1B0,1B1\n"),
            "schedule \"some.csv\" is not sound: rank 1 lacks forward of micro-batch 1 on chunk 1");
  EXPECT_NE(error_message("0F0,0B0,1F0,1B0\n1F0,1B0\n").find("does not hold the chunk"),
            std::string::npos);
  EXPECT_NE(error_message("0F0,0F0,0B0").find("is already"), std::string::npos);
  EXPECT_NE(error_message("0F0,0F2000000000").find("lacks"), std::string::npos);
  EXPECT_NE(error_message("0F0,0F1,0B1,0B0\n1F0,1B0,1F1,1B1\n").find("must come after"),
            std::string::npos);
  // Each waits for the other's first.
  EXPECT_NE(error_message("0F0,0B0,0W0,0F1,0B1,0W1\n1F1,1B1,1F0,1B0,1W0,1W1\n").find("it hangs"),
            std::string::npos);
}

TEST(ScheduleCsv, IsOfATraining) {
  EXPECT_EQ(
      error_message("0F0\n1F0\n"),
      "schedule \"some.csv\" is not sound: rank 0 lacks backward of micro-batch 0 on chunk 0");
}

}  // namespace
}  // namespace penstock::partition
