#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "comm/agree.h"
#include "runtime/checkpoint/passthrough_parts.h"
#include "runtime/checkpoint/retention.h"
#include "runtime/trainer/background_work.h"
#include "runtime/trainer/mirror.h"
#include "runtime/trainer/notices.h"
#include "runtime/trainer/saving.h"
#include "runtime/trainer/state_copy.h"

namespace penstock::runtime {

/// The outcome of a save. It is the same on all ranks except where a field is of rank 0.
struct SaveOutcome {
  std::int64_t step = 0;
  std::filesystem::path folder = {};            // the checkpoint; empty if there is none
  std::string fault = {};                       // why there is none
  std::string aside = {};                       // rank 0: what failed after completion
  std::optional<BestCheckpoint> unmarked = {};  // rank 0: the best checkpoint, if marking it failed
  bool again = false;                           // rank 0: space was freed, so the save is repeated
};

/// A rank's part of a save: the text of its shard's index, empty if it has none, or a failure.
struct ShardResult {
  std::string index = {};
  comm::Failure failure = {};
};

/// Writes a run's checkpoints, one at a time, while training continues. A step only pays for a copy
/// of the state; background threads write to the disk. All ranks call write_beside(), begin(),
/// hear() and wait() together. Only these functions send messages, because MPI is called from a
/// single thread of each rank.
///
/// Every rank writes its shard and reads it back. When all ranks have reported this in their
/// notices, rank 0 gathers the shards' indices and commits the checkpoint. It then marks the best
/// checkpoint and removes old ones, also in a thread. Whatever fails, earlier checkpoints stay
/// unchanged. If a disk is full, the oldest checkpoint is removed once a newer one is verified, and
/// all ranks write again; see make_room().
class CheckpointWriter {
 public:
  struct Options {
    std::filesystem::path output;
    std::string tokenizer = {};    // bytes of text.model; every checkpoint stores a copy
    PassthroughParts kept = {};    // kept from an imported model; on rank 0
    int keep = 1;                  // number of newest checkpoints to keep
    std::int64_t incarnation = 0;  // see require_incarnation(); 0: none
    Mirror* mirror = nullptr;  // on rank 0, if checkpoints are uploaded; must outlive the writer
    /// Waits between attempts, as in ShardWork.
    std::vector<std::chrono::milliseconds> pauses = {std::chrono::seconds(1),
                                                     std::chrono::seconds(2)};
  };
  /// `saving` must outlive it. Unless write_beside() is called, training waits for the disk.
  CheckpointWriter(const Saving& saving, Options options);

  /// Allocates memory for a copy of the state, so that training continues while a checkpoint is
  /// written. If a rank lacks the memory, training waits during a save, and the same reason is
  /// returned on all ranks. Otherwise returns an empty string.
  [[nodiscard]] std::string write_beside();
  bool beside() const { return beside_; }
  bool busy() const { return phase_ != Phase::idle; }

  /// Begins a save. No other save may be in progress. Without write_beside() the shards are
  /// complete when this returns. `best`, if set, describes this checkpoint and makes it the best
  /// one.
  void begin(const TrainingState& state, const std::optional<BestCheckpoint>& best = {});

  /// Adds this rank's progress of the current save to its notices.
  void tell(Notices& notices) const;
  /// Advances the save according to the notices of all ranks. Returns its outcome if that is now
  /// known.
  std::optional<SaveOutcome> hear(const Notices& of_all);
  /// Waits for the current save, if there is one, and returns its outcome.
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
  std::optional<StateCopy> copy_;  // used with beside_, on a rank that has a shard

  Phase phase_ = Phase::idle;
  TrainingState state_;
  std::vector<CheckpointPiece> pieces_;  // pieces of this rank: in copy_, or in the training memory
  std::optional<BestCheckpoint> best_;
  std::optional<BestCheckpoint> unmarked_;  // rank 0: retried with the next save
  std::filesystem::path folder_;
  std::optional<BackgroundWork<ShardResult>> writing_;
  std::optional<BackgroundWork<SaveOutcome>> committing_;  // used on rank 0
};

}  // namespace penstock::runtime
