#include "runtime/trainer/checkpoint_writer.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <functional>
#include <stop_token>
#include <utility>

#include "comm/collectives.h"
#include "runtime/checkpoint/incarnation.h"
#include "runtime/checkpoint/output_folder.h"
#include "runtime/checkpoint/save.h"
#include "runtime/devices/host_window.h"
#include "runtime/trainer/shard_work.h"

namespace penstock::runtime {
namespace {

/// Returns the failure of `work`, of whatever type: a save that fails must not end the run.
comm::Failure any_failure_in(const std::function<void()>& work) {
  try {
    return comm::failure_in(work);
  } catch (const std::exception& error) {
    return {comm::Failure::Kind::checkpoint, error.what()};
  }
}

std::string packed(const ShardResult& result) {
  Packer message;
  message.add(result.index);
  comm::pack(result.failure, message);
  return message.bytes();
}

ShardResult unpacked(const std::string& bytes) {
  Unpacker message(bytes);
  ShardResult result{.index = message.text()};
  result.failure = comm::unpack_failure(message);
  return result;
}

/// Returns the indices of all shards. Raises the failure of the first rank that has one.
std::vector<ShardIndex> indices_of(const std::vector<ShardResult>& shards) {
  std::vector<ShardIndex> indices;
  for (std::size_t rank = 0; rank < shards.size(); ++rank) {
    if (comm::Failure failure = shards[rank].failure) {
      failure.text = fmt::format("rank {}: {}", rank, failure.text);
      comm::raise(failure);
    }
    if (!shards[rank].index.empty()) indices.push_back(parse_shard_index(shards[rank].index));
  }
  return indices;
}

/// The data from which rank 0 makes a checkpoint.
struct Publication {
  const CheckpointWriter::Options& options;
  std::filesystem::path folder;
  TrainingState state;
  std::optional<BestCheckpoint> best;
  std::vector<ShardResult> shards;  // gathered from the ranks
};

/// Updates the marks and removes old checkpoints. The new checkpoint stays complete if this fails.
/// Marks come first: the previous best may be removed only when it is known not to be the best.
void tidy_up(const Publication& publication, SaveOutcome& outcome) {
  const CheckpointWriter::Options& options = publication.options;
  outcome.unmarked = publication.best;
  try {
    mark_latest(outcome.folder);
    if (publication.best) mark_best(options.output, *publication.best);
    outcome.unmarked.reset();
    keep_newest(options.output, options.keep, [&](std::int64_t step) {
      return options.mirror != nullptr && options.mirror->uses(step);
    });
  } catch (const std::exception& error) {
    outcome.aside = error.what();
  }
}

/// Removes an old checkpoint if that frees space for this save. Returns true if it did.
bool has_room_now(const Publication& publication) {
  const CheckpointWriter::Options& options = publication.options;
  try {
    const auto removed = make_room(options.output);
    if (removed)
      spdlog::warn(
          "the disk of {} is full: {} is removed to write that of step {}, since a newer one is "
          "whole. Free the disk, or resume with trainer.keep={}",
          options.output.string(), removed->filename().string(), publication.state.step,
          list_checkpoints(options.output).size());
    return removed.has_value();
  } catch (const std::exception& error) {
    spdlog::warn("no room can be made for the checkpoint of step {}: {}", publication.state.step,
                 error.what());
    return false;
  }
}

SaveOutcome publish(const Publication& publication) {
  SaveOutcome outcome{.step = publication.state.step};
  const CheckpointWriter::Options& options = publication.options;
  const comm::Failure failure = any_failure_in([&] {
    require_incarnation(options.output, options.incarnation);
    outcome.folder = commit(publication.folder, publication.state, indices_of(publication.shards),
                            options.tokenizer, options.kept);
  });
  if (!failure) {
    tidy_up(publication, outcome);
    if (options.mirror != nullptr) options.mirror->offer(outcome.folder);
    return outcome;
  }
  if (!publication.folder.empty()) abandon_save(publication.folder);
  outcome.again = failure.disk_full() && has_room_now(publication);
  outcome.fault = failure.text;
  return outcome;
}

}  // namespace

// A save has two phases. In `writing`, each rank writes its shard; the result is the shard's index
// or a failure. In `committing`, rank 0 checks the indices and publishes the checkpoint. Failures
// travel as values, so a failure on any rank ends the save on all ranks without an exception.
// hear() enters the next phase when the notices show that no rank has to wait. In contrast, wait()
// enters it at once.
//
// Example: two ranks save step 10 beside training, and rank 1 has the slower disk.
//
//   end of step   rank 0            rank 1          notices of all   hear()
//   10            begin(): copies the state, then threads write
//   11            has written       writes          written = 1
//   12            has written       has written     written = 2      commit(): gathers the indices
//   13            publishes                         committed = 0
//   14            has published                     committed = 1    conclude(): the same outcome

CheckpointWriter::CheckpointWriter(const Saving& saving, Options options)
    : saving_(saving), options_(std::move(options)) {}

// All ranks that write have copies, or none has. If one of them had to wait for its disk, the
// others would wait for its messages, and their copies would gain nothing.
std::string CheckpointWriter::write_beside() {
  comm::Communicator& world = saving_.grid().world();
  std::vector<CheckpointPiece> pieces = saving_.pieces();
  const std::vector<comm::Failure> failures =
      comm::gather(world, any_failure_in([&] {
                     if (!pieces.empty())
                       copy_.emplace(saving_.backend(), saving_.stream(), std::move(pieces));
                   }));
  std::string lack;  // the first rank's, on rank 0
  for (std::size_t rank = 0; rank < failures.size() && lack.empty(); ++rank)
    if (failures[rank]) lack = fmt::format("rank {}: {}", rank, failures[rank].text);
  lack = comm::broadcast(world, lack);
  beside_ = lack.empty();
  if (!beside_) copy_.reset();
  return lack;
}

// If the last best checkpoint could not be marked, its mark is written with this save, unless this
// checkpoint is the best itself.
void CheckpointWriter::begin(const TrainingState& state,
                             const std::optional<BestCheckpoint>& best) {
  state_ = state;
  best_ = best ? best : unmarked_;
  pieces_ = copy_ ? copy_->take() : saving_.pieces();
  start();
}

// Rank 0 makes the folder "checkpoint-N.partial", whose name the others need. If it can't, no rank
// writes: rank 0's result is the failure, and the save goes through its phases like any other that
// fails. A save that is repeated starts here again, with the same pieces.
void CheckpointWriter::start() {
  comm::Communicator& world = saving_.grid().world();
  phase_ = Phase::writing;
  comm::Failure failure;
  if (world.rank() == 0)
    failure = any_failure_in([&] { folder_ = start_save(options_.output, state_.step); });
  if (failure) folder_.clear();
  folder_ = comm::broadcast(world, folder_.string());  // empty if it can't be made
  if (folder_.empty())
    writing_.emplace(ShardResult{.failure = failure});
  else
    write(folder_);
}

// A rank with a copy writes it in a thread. Otherwise this thread writes from the training's
// memory; a device's memory passes through a window. A rank without pieces has an empty result at
// once, since it must take part in the messages.
void CheckpointWriter::write(const std::filesystem::path& folder) {
  ShardWork work{.folder = folder,
                 .shard = saving_.shard_name(),
                 .pieces = pieces_,
                 .pauses = options_.pauses};
  const auto attempt = [](const ShardWork& own, const std::stop_token& stop) {
    ShardResult result;
    result.failure =
        any_failure_in([&] { result.index = to_text(write_and_read_back(own, stop)); });
    return result;
  };
  if (copy_) {
    writing_.emplace([work = std::move(work), attempt](const std::stop_token& stop) {
      return attempt(work, stop);
    });
    return;
  }
  HostWindow window(saving_.backend(), saving_.stream());
  work.bytes = [&](const layers::Tensor& tensor, std::size_t begin) {
    return window.read(tensor, begin);
  };
  writing_.emplace(work.pieces.empty() ? ShardResult() : attempt(work, {}));
}

void CheckpointWriter::tell(Notices& notices) const {
  notices.written = phase_ == Phase::writing && writing_->done();
  notices.committed = committing_ && committing_->done();
}

std::optional<SaveOutcome> CheckpointWriter::hear(const Notices& of_all) {
  if (phase_ == Phase::writing && of_all.written == saving_.grid().world().size())
    commit();
  else if (phase_ == Phase::committing && of_all.committed > 0)
    return conclude();
  return std::nullopt;
}

// The loop repeats only if conclude() starts to write again, after an old checkpoint made room.
std::optional<SaveOutcome> CheckpointWriter::wait() {
  while (busy()) {
    if (phase_ == Phase::writing) commit();
    if (auto outcome = conclude()) return outcome;
  }
  return std::nullopt;
}

/// Starts to commit. Waits for this rank's shard and, on rank 0, for every rank's.
void CheckpointWriter::commit() {
  comm::Communicator& world = saving_.grid().world();
  const ShardResult own = writing_->take();
  writing_.reset();
  std::vector<ShardResult> shards;
  for (const std::string& bytes : comm::gather(world, std::string_view(packed(own))))
    shards.push_back(unpacked(bytes));
  phase_ = Phase::committing;
  if (world.rank() != 0) return;
  committing_.emplace(
      [publication = Publication{options_, folder_, state_, best_, std::move(shards)}](
          const std::stop_token&) { return publish(publication); });
}

/// Waits for rank 0's outcome. Returns nothing if all ranks start to write again.
std::optional<SaveOutcome> CheckpointWriter::conclude() {
  comm::Communicator& world = saving_.grid().world();
  SaveOutcome outcome{.step = state_.step};
  if (committing_) outcome = committing_->take();
  committing_.reset();
  if (comm::answer_from_rank_0(world, outcome.again)) {
    start();
    return std::nullopt;
  }
  if (outcome.fault.empty()) unmarked_ = outcome.unmarked;
  outcome.fault = comm::broadcast(world, outcome.fault);
  outcome.folder = comm::broadcast(world, outcome.folder.string());
  phase_ = Phase::idle;
  return outcome;
}

}  // namespace penstock::runtime
