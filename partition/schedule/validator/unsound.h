#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "configs/config.h"
#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// Where an action stands.
struct Position {
  int rank = 0;
  std::size_t index = 0;  // in the rank's list, from 0
};

/// A position on the rank that was named just before.
struct SameRank {
  Position position;
};

/// What is wrong, with the positions that it speaks of: who shows it says how they are counted.
using Fault = std::vector<std::variant<std::string, Position, SameRank>>;

/// A schedule that is not sound. Its message has the schedule's name, and actions as describe()
/// names them.
class UnsoundSchedule : public ConfigError {
 public:
  UnsoundSchedule(const Schedule& schedule, Fault fault);
  const Fault& fault() const { return fault_; }

 private:
  Fault fault_;
};

/// "rank 1, action 7 (forward of micro-batch 3 on chunk 1)"
std::string describe(const Schedule& schedule, const Position& position);

/// Raises UnsoundSchedule.
[[noreturn]] void throw_unsound(const Schedule& schedule, Fault fault);

}  // namespace penstock::partition
