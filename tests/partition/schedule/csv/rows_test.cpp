#include "partition/schedule/csv/rows.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::partition {
namespace {

TEST(ScheduleCell, ReadsActionsIdleTimeAndOverlaps) {
  EXPECT_TRUE(parse_cell("").empty());
  const auto one = parse_cell("13RECV_B2147483646");
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].chunk, 13);
  EXPECT_EQ(one[0].kind, CellKind::RECV_B);
  EXPECT_EQ(one[0].micro_batch, 2147483646);
  const auto both = parse_cell("(0F7;2BW3)OVERLAP_F_B");
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].kind, CellKind::F);
  EXPECT_EQ(both[1].kind, CellKind::BW);
  EXPECT_EQ(both[1].chunk, 2);
}

TEST(ScheduleCell, RejectsWhatIsNoAction) {
  for (const char* text : {"F0", "0F", "07", "0X1", "0f1", "-1F0", "0F-1", "0F1;0B1", "(0F1;0B1)",
                           "0F2147483647", "99999999999F0"}) {
    const std::string message = test::message_of<ConfigError>([&] { parse_cell(text); });
    EXPECT_TRUE(message.starts_with("\"" + std::string(text) + "\" is no action: expected "))
        << message;
  }
}

TEST(ScheduleCell, WritesWhatItReads) {
  for (const char* text : {"0F0", "3B12", "1W999999", "2BW5"}) {
    const Cell cell = parse_cell(text).front();
    const ActionKind kind = cell.kind == CellKind::F   ? ActionKind::forward
                            : cell.kind == CellKind::B ? ActionKind::backward_input
                            : cell.kind == CellKind::W ? ActionKind::backward_weight
                                                       : ActionKind::backward;
    EXPECT_EQ(cell_text({kind, cell.chunk, cell.micro_batch}), text);
  }
}

}  // namespace
}  // namespace penstock::partition
