#pragma once

#include <cstddef>
#include <string>

#include "partition/schedule.h"

namespace penstock {

/// Where an action stands.
struct Position {
  int rank = 0;
  std::size_t index = 0;  // in the rank's list, from 0
};

/// "rank 1, action 7 (forward of micro-batch 3 on chunk 1)"
std::string describe(const Schedule& schedule, const Position& position);

/// Raises ConfigError: the schedule's name, then `fault`.
[[noreturn]] void refuse(const Schedule& schedule, const std::string& fault);

}  // namespace penstock
