#pragma once

#include <string>
#include <vector>

#include "partition/plan/plan.h"

namespace penstock::partition {

/// A plan as a file states it, with the lines that rules point to.
struct PlanSource {
  Plan plan;
  std::string name;                 // of the file
  std::vector<std::string> faults;  // each with file and line

  int model_line = 0, schedule_line = 0, micro_batches_line = 0, lanes_line = 0, ranks_line = 0;
  int order_line = 0, actions_line = 0, micro_batch_seconds_line = 0;
  struct ChunkLines {
    int stage = 0, layers = 0, recompute = 0;
  };
  std::vector<ChunkLines> chunk_lines;

  void fault(int line, const std::string& what);
};

/// Reads what the syntax alone says: faults are bad TOML, unknown or missing keys, wrong types.
[[nodiscard]] PlanSource plan_of_toml(const std::string& text, const std::string& name);

/// Names of StageBytes' members with their values; of what is spared or on the host only where
/// something is.
[[nodiscard]] std::vector<std::pair<std::string, std::size_t>> kinds_of_bytes(
    const StageBytes& bytes);

/// The shortest form that reads as the same number, with a point.
[[nodiscard]] std::string toml_number(double number);

}  // namespace penstock::partition
