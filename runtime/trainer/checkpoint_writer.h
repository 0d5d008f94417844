#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/checkpoint/best.h"
#include "runtime/checkpoint/kept_parts.h"
#include "runtime/trainer/background_work.h"
#include "runtime/trainer/notices.h"
#include "runtime/trainer/saving.h"
#include "runtime/trainer/state_copy.h"

namespace penstock::runtime {

/// What became of a save, the same on all ranks.
struct SaveOutcome {
  std::int64_t step = 0;
  std::filesystem::path folder = {};            // of the checkpoint; empty: there is none
  std::string fault = {};                       // why not
  std::string aside = {};                       // on rank 0: what failed behind a whole checkpoint
  std::optional<BestCheckpoint> unmarked = {};  // and the best, if its mark did
  bool again = false;  // on rank 0: room was made for it, so that it is written once more
};

/// Writes a training's checkpoints, one after the other, while training goes on: a step pays for a
/// copy of the state, threads for the disk. All ranks call write_beside(), begin(), hear() and
/// wait() together, and these alone send messages: MPI serves one thread of a rank.
///
/// Every rank's shard is written and read back by the rank. When all have told that in their
/// notices, rank 0 gathers what they wrote, commits the checkpoint, marks the best and removes old
/// ones, in a thread as well. Whatever fails, earlier checkpoints are as they were. Where a disk is
/// full, the oldest goes once a newer one is verified, and all ranks write again; see make_room().
class CheckpointWriter {
 public:
  struct Options {
    std::filesystem::path output;
    std::string tokenizer = {};  // bytes of text.model, of which every checkpoint keeps a copy
    KeptParts kept = {};         // of an imported model; on rank 0
    int keep = 1;                // newest checkpoints that stay
    /// As ShardWork's.
    std::vector<std::chrono::milliseconds> pauses = {std::chrono::seconds(1),
                                                     std::chrono::seconds(2)};
  };
  /// `saving` must outlive it. Without write_beside() training waits for the disk.
  CheckpointWriter(const Saving& saving, Options options);

  /// Takes memory for a copy of the state, so that training goes on while a checkpoint is written.
  /// Where a rank lacks it, training waits, and this says why, alike on all ranks.
  [[nodiscard]] std::string write_beside();
  bool beside() const { return beside_; }
  bool busy() const { return phase_ != Phase::idle; }

  /// Begins a save; none may be under way. Where training does not go on meanwhile, the shards are
  /// written behind this. `best`, if it is one, becomes the best checkpoint.
  void begin(const TrainingState& state, const std::optional<BestCheckpoint>& best = {});

  /// Adds what this rank has to tell of the save under way.
  void tell(Notices& notices) const;
  /// Goes on with it by what all ranks told; its outcome, if that is known now.
  std::optional<SaveOutcome> hear(const Notices& of_all);
  /// Waits for the outcome of the save under way, if one is.
  std::optional<SaveOutcome> wait();

 private:
  enum class Phase { idle, writing, committing };

  void start();
  void write(const std::filesystem::path& folder);
  void commit();
  std::optional<SaveOutcome> conclude();

  const Saving& saving_;
  Options options_;
  bool beside_ = false;
  std::optional<StateCopy> copy_;  // with beside_, of a rank that has a shard

  Phase phase_ = Phase::idle;
  TrainingState state_;
  std::vector<CheckpointPiece> pieces_;  // of this rank, in the copy or where training has them
  std::optional<BestCheckpoint> best_;
  std::optional<BestCheckpoint> unmarked_;  // on rank 0: marked with the next one
  std::filesystem::path folder_;
  std::optional<BackgroundWork<std::string>> writing_;     // a shard's index, or a fault
  std::optional<BackgroundWork<SaveOutcome>> committing_;  // on rank 0
};

}  // namespace penstock::runtime
