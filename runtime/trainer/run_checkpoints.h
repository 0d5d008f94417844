#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "runtime/trainer/best_validation.h"
#include "runtime/trainer/checkpoint_writer.h"
#include "runtime/trainer/notices.h"

namespace penstock::runtime {

/// The checkpoints of one run: which step is saved, which validation is the best, and why a save
/// failed. CheckpointWriter writes them. All ranks call each method together and with the same
/// arguments, except where it says otherwise, so they know the same. A failed save does not end a
/// run: the step counts as unsaved, and the best validation is the one before.
class RunCheckpoints {
 public:
  using Note = std::function<void(const std::string&)>;

  /// `best` is the best validation so far, of none. `note` logs on rank 0.
  RunCheckpoints(const Saving& saving, CheckpointWriter::Options options, BestValidation best,
                 Note note);

  CheckpointWriter& writer() { return writer_; }
  const BestValidation& best() const { return best_; }

  /// Continues from a checkpoint.
  void resume(std::int64_t step, const std::filesystem::path& folder);
  /// Recalls the best validation of that checkpoint; see BestValidation::recall().
  [[nodiscard]] std::string recall_best(const TrainingState& saved, bool stored);

  /// Returns true if the checkpoint of this step is complete or being written.
  bool holds(std::int64_t step) const { return saved_ == step; }
  bool failed_at(std::int64_t step) const { return failed_.step == step; }
  /// Returns why the last save failed that did; empty if none has.
  const std::string& fault() const { return failed_.fault; }
  /// Returns the last complete checkpoint; empty if there is none.
  const std::filesystem::path& folder() const { return folder_; }

  /// Returns true if `seconds` have passed since the last save began. It is false while one is in
  /// progress: if disks are slower than that, saves follow each other without a pause. Ranks have
  /// different clocks.
  bool due_after(double seconds) const;
  /// Restarts the clock of due_after().
  void restart_clock() { began_ = Clock::now(); }

  /// Waits, as wait() does, for a best checkpoint that is being written: if that fails, the one
  /// before counts again.
  void settle_best(bool goes_on);
  /// Makes the report the best validation, unless the next save fails. No save may be in progress.
  void set_best(const EvaluationReport& report);

  /// Begins a save; see CheckpointWriter::begin(). No save may be in progress.
  void begin(const TrainingState& state, const std::optional<BestCheckpoint>& best);
  /// Advances the save according to the notices of all ranks.
  void advance(const Notices& of_all);
  /// Waits for the save, if there is one. Logs a long wait if the run `goes_on`.
  void wait(bool goes_on);

 private:
  using Clock = std::chrono::steady_clock;

  void settle(const SaveOutcome& outcome);

  CheckpointWriter writer_;
  Note note_;
  std::int64_t saved_ = -1;
  std::filesystem::path folder_;
  Clock::time_point began_ = Clock::now();
  SaveOutcome failed_{.step = -1};
  BestValidation best_;
  std::optional<BestValidation> best_before_;  // while a new best checkpoint is being written
};

}  // namespace penstock::runtime
