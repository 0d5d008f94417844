#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// A Position is the rank of an action and its place in the list.
struct Position {
  int rank = 0;
  std::size_t index = 0;  // index in the rank's list, from 0
};

/// A position on the same rank as the position before it in the message.
struct SameRank {
  Position position;
};

/// A fault is a message with the positions that it mentions. The caller that prints it chooses how
/// they are counted.
using Fault = std::vector<std::variant<std::string, Position, SameRank>>;

/// Thrown for a schedule that is not sound. The message holds the schedule's name, and names
/// actions as describe() does.
class UnsoundSchedule : public ConfigError {
 public:
  UnsoundSchedule(const Schedule& schedule, Fault fault);
  const Fault& fault() const { return fault_; }

 private:
  Fault fault_;
};

/// Returns, for example, "rank 1, action 7 (forward of micro-batch 3 on chunk 1)".
std::string describe(const Schedule& schedule, const Position& position);

/// Throws UnsoundSchedule.
[[noreturn]] void throw_unsound(const Schedule& schedule, Fault fault);

}  // namespace penstock::partition
