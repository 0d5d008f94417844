#pragma once

#include <string>
#include <string_view>

#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// A schedule as PyTorch writes them: a row for each rank, a cell for each action in turn. Read:
/// - empty cells are idle time, an overlap's parts follow each other;
/// - B is the input gradient where W occurs in the file and I does not, else both gradients; I is
///   the input gradient, BW always both;
/// - where no SEND or RECV stands, transfers are put in (see with_transfers); reduce and step are.
/// `name` is used for the schedule and for errors. ConfigError names row and column of what can't
/// be read. The schedule may be unsound: see validate(), and check_schedule_csv() for files.
[[nodiscard]] Schedule parse_schedule_csv(std::string_view text, const std::string& name);

/// What each rank computes, with F, B (input gradient) and W where the schedule parts them, else F
/// and BW. Reading it gives the same schedule.
[[nodiscard]] std::string schedule_csv(const Schedule& schedule);

}  // namespace penstock::partition
