#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "partition/planner/plan/plan.h"
#include "runtime/checkpoint/training_state.h"
#include "tools/reports/training/data_shares.h"
#include "tools/reports/training/incidents.h"
#include "tools/reports/training/run_history.h"

namespace penstock::tools {

/// A training that a report shows, by the files in its output folder.
struct ReportedRun {
  std::string name;  // its folder, as it was named
  RunHistory history = {};
  std::optional<runtime::TrainingState> state = {};  // of the newest checkpoint
  std::optional<partition::Plan> plan = {};          // of the same checkpoint
  std::vector<RunIncident> incidents = {};           // those of a supervised run
  std::vector<DataShare> shares = {};                // of its data, if they were asked for
  std::vector<std::string> notes = {};               // sentences on what could not be read
};

/// Says if a run's training data are read for their shares. Otherwise data.train is not touched.
enum class ReadShares { yes, no };

/// Reads a run. CheckpointError if the folder is missing, or holds no metrics.jsonl. Whatever else
/// is missing or damaged is said in the notes.
[[nodiscard]] ReportedRun read_run(const std::filesystem::path& output,
                                   ReadShares shares = ReadShares::no);

}  // namespace penstock::tools
