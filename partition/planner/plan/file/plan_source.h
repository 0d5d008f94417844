#pragma once

#include <string>
#include <vector>

#include "partition/planner/plan/plan.h"
#include "partition/planner/plan/plan_file.h"

namespace penstock::partition {

/// A PlanSource is a plan as a file states it, with the lines that faults refer to.
struct PlanSource {
  Plan plan;
  std::string name;                 // name of the file
  std::vector<std::string> faults;  // each with file and line

  int model_line = 0, schedule_line = 0, micro_batches_line = 0, lanes_line = 0, ranks_line = 0;
  int order_line = 0, actions_line = 0, micro_batch_seconds_line = 0;
  struct ChunkLines {
    int stage = 0, layers = 0, recompute = 0;
  };
  std::vector<ChunkLines> chunk_lines;

  void fault(int line, const std::string& what);
};

/// Parses the syntax alone. Faults are bad TOML, unknown or missing keys, and wrong types.
[[nodiscard]] PlanSource plan_of_toml(const std::string& text, const std::string& name);

/// Returns the names of StageBytes' members with their values. `spared` and `host` are left out if
/// they are 0.
[[nodiscard]] std::vector<std::pair<std::string, std::size_t>> kinds_of_bytes(
    const StageBytes& bytes);

/// Returns the shortest text with a decimal point or an exponent that reads as the same number.
[[nodiscard]] std::string toml_number(double number);

/// Adds a fault to source.faults for each contradiction within the plan or with the model. Sets
/// ChunkPlan::first.
void check_rules(PlanSource& source, const PlannedModel& model);

}  // namespace penstock::partition
