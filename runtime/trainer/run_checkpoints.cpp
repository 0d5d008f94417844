#include "runtime/trainer/run_checkpoints.h"

#include <fmt/format.h>

#include <utility>

namespace penstock::runtime {

RunCheckpoints::RunCheckpoints(const Saving& saving, CheckpointWriter::Options options,
                               BestValidation best, Note note)
    : writer_(saving, std::move(options)), note_(std::move(note)), best_(std::move(best)) {}

void RunCheckpoints::resume(std::int64_t step, const std::filesystem::path& folder) {
  saved_ = step;
  folder_ = folder;
}

std::string RunCheckpoints::recall_best(const TrainingState& saved, bool stored) {
  return best_.recall(saved, stored);
}

bool RunCheckpoints::due_after(double seconds) const {
  return !writer_.busy() && std::chrono::duration<double>(Clock::now() - began_).count() >= seconds;
}

void RunCheckpoints::settle_best(bool goes_on) {
  if (best_before_) wait(goes_on);
}

void RunCheckpoints::set_best(const EvaluationReport& report) {
  best_before_ = best_;
  best_.set(report);
}

// The step counts as saved from here on, so that no other save of it begins meanwhile. settle()
// takes that back if the save fails.
void RunCheckpoints::begin(const TrainingState& state, const std::optional<BestCheckpoint>& best) {
  saved_ = state.step;
  restart_clock();
  writer_.begin(state, best);
}

void RunCheckpoints::advance(const Notices& of_all) {
  if (const auto outcome = writer_.hear(of_all)) settle(*outcome);
}

void RunCheckpoints::wait(bool goes_on) {
  const auto start = Clock::now();
  const auto outcome = writer_.wait();
  if (!outcome) return;
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (seconds >= 1 && writer_.beside() && goes_on)
    note_(fmt::format("training waited {:.0f} s until the checkpoint of step {} was {}", seconds,
                      outcome->step, outcome->fault.empty() ? "written" : "given up"));
  settle(*outcome);
}

void RunCheckpoints::settle(const SaveOutcome& outcome) {
  if (outcome.fault.empty()) {
    folder_ = outcome.folder;
    if (!outcome.aside.empty())
      note_(fmt::format("the checkpoint of step {} is whole, but afterwards: {}", outcome.step,
                        outcome.aside));
  } else {
    if (best_before_) best_ = *best_before_;
    if (saved_ == outcome.step) saved_ = -1;
    failed_ = outcome;
    note_(fmt::format("the checkpoint of step {} can't be written: {}\nEarlier ones stay.",
                      outcome.step, outcome.fault));
  }
  best_before_.reset();
}

}  // namespace penstock::runtime
