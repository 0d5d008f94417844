#include "tools/reports/training/reported_run.h"

#include <fmt/format.h>

#include <system_error>

#include "base/error.h"
#include "base/file_handle.h"
#include "base/quantities.h"
#include "partition/planner/plan/any_plan.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/output_folder.h"
#include "runtime/supervisor/run_status.h"

namespace penstock::tools {
namespace {

/// Returns the text of metrics.jsonl. CheckpointError says why the folder is no run.
std::string metrics_text(const std::filesystem::path& output) try {
  std::error_code error;
  if (std::filesystem::exists(output, error) && !std::filesystem::is_directory(output, error))
    throw CheckpointError(
        fmt::format("{} is no folder; name the trainer.output of a training", output.string()));
  return read_file(output / runtime::kMetricsFile);
} catch (const FileError& error) {
  if (!error.missing()) throw;
  const std::filesystem::path named = output.has_filename() ? output : output.parent_path();
  if (!std::filesystem::is_directory(output))
    throw CheckpointError(fmt::format(
        "{}: there is no such folder; name the trainer.output of a training", output.string()));
  const std::filesystem::path parent = named.parent_path();
  if (runtime::step_of_checkpoint(named.filename().string()))
    throw CheckpointError(
        fmt::format("{} is a checkpoint of a run: name the run's folder, which has metrics.jsonl:\n"
                    "  penstock report {}",
                    output.string(), parent.empty() ? "." : parent.string()));
  throw CheckpointError(
      fmt::format("{} holds no run: it has no metrics.jsonl, which every training writes; name a "
                  "trainer.output",
                  output.string()));
}

/// Reads the settings and the plan from the newest checkpoint, of which only the manifest is
/// opened.
void read_state(ReportedRun& run, const std::filesystem::path& output) try {
  const auto checkpoints = runtime::list_labelled(
      output, [&](const std::string& text) { run.notes.push_back(text + "."); });
  if (checkpoints.empty())
    run.notes.emplace_back("It has no checkpoint yet, which would hold its settings and its plan.");
  else
    run.state =
        runtime::Checkpoint(checkpoints.back().folder, runtime::OpenShards::as_read).state();
} catch (const Error& error) {
  run.notes.push_back(
      fmt::format("Its settings and its plan are unknown, as its newest checkpoint can't be read: "
                  "{}.",
                  error.what()));
}

/// Reads the plan that the checkpoint states. A mean of checkpoints and an import have none.
void read_plan_of_state(ReportedRun& run) try {
  if (run.state && !run.state->plan_toml.empty())
    run.plan = partition::parse_any_plan(run.state->plan_toml, "the plan of its checkpoint");
} catch (const Error& error) {
  run.notes.push_back(fmt::format("Its plan can't be shown: {}.", error.what()));
}

void read_shares(ReportedRun& run) try {
  if (run.state) run.shares = data_shares(*run.state, run.name);
} catch (const Error& error) {
  run.notes.push_back(fmt::format("The shares of its data are unknown: {}.", error.what()));
}

/// Reads the incidents, of which a run without a supervisor has none.
void read_incidents(ReportedRun& run, const std::filesystem::path& output) try {
  run.incidents = parse_incidents(read_file(output / runtime::kIncidentsFile));
} catch (const FileError& error) {
  if (!error.missing()) run.notes.push_back(fmt::format("{}.", error.what()));
}

void note_history(ReportedRun& run) {
  const RunHistory& history = run.history;
  if (history.empty()) run.notes.emplace_back("It has recorded no step yet.");
  if (history.torn)
    run.notes.emplace_back(
        "The last line of metrics.jsonl is cut off, as it is while a run writes it or after a run "
        "was killed, and is left out.");
  if (history.not_records > 0)
    run.notes.push_back(
        history.not_records == 1
            ? "1 line of metrics.jsonl is left out, as it is no record of a training."
            : fmt::format("{} lines of metrics.jsonl are left out, as they are no "
                          "records of a training.",
                          history.not_records));
  if (history.repeated > 0)
    run.notes.push_back(fmt::format(
        "{} of metrics.jsonl {} replaced by later ones, which repeat their steps after a "
        "resumption.",
        counted(history.repeated, "line"), history.repeated == 1 ? "is" : "are"));
}

}  // namespace

ReportedRun read_run(const std::filesystem::path& output, ReadShares shares) {
  ReportedRun run{.name = output.string()};
  run.history = parse_history(metrics_text(output));
  note_history(run);
  read_state(run, output);
  read_plan_of_state(run);
  read_incidents(run, output);
  if (shares == ReadShares::yes) read_shares(run);
  return run;
}

}  // namespace penstock::tools
