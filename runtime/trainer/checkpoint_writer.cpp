#include "runtime/trainer/checkpoint_writer.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cerrno>
#include <functional>
#include <stop_token>
#include <utility>

#include "base/file_handle.h"
#include "comm/collectives.h"
#include "runtime/checkpoint/disk_space.h"
#include "runtime/checkpoint/output_folder.h"
#include "runtime/checkpoint/retention.h"
#include "runtime/checkpoint/save.h"
#include "runtime/devices/host_window.h"
#include "runtime/job/packing.h"
#include "runtime/trainer/shard_work.h"

namespace penstock::runtime {
namespace {

constexpr char kFault = '!';   // first character of an error text
constexpr char kNoRoom = '#';  // the same if the disk or the user's quota is full
constexpr char kFolder = '/';  // first character of a folder's name

/// An error of a save that may succeed when disk space is freed.
class DiskFull : public CheckpointError {
 public:
  using CheckpointError::CheckpointError;
};

bool is_full(const FileError& error) {
  const auto code = static_cast<std::errc>(error.code().value());
  return code == std::errc::no_space_on_device || error.code().value() == EDQUOT;
}

std::string or_fault(const std::function<std::string()>& work) {
  try {
    return work();
  } catch (const FileError& error) {
    return (is_full(error) ? kNoRoom : kFault) + std::string(error.what());
  } catch (const std::exception& error) {
    return kFault + std::string(error.what());
  }
}

bool is_fault(const std::string& text) {
  return !text.empty() && (text.front() == kFault || text.front() == kNoRoom);
}

[[noreturn]] void raise_fault(std::size_t rank, const std::string& text) {
  const std::string message = fmt::format("rank {}: {}", rank, text.substr(1));
  if (text.front() == kNoRoom) throw DiskFull(message);
  throw CheckpointError(message);
}

std::vector<ShardIndex> indices_of(const std::vector<std::string>& shards) {
  std::vector<ShardIndex> indices;
  for (std::size_t rank = 0; rank < shards.size(); ++rank) {
    if (is_fault(shards[rank])) raise_fault(rank, shards[rank]);
    if (!shards[rank].empty()) indices.push_back(parse_shard_index(shards[rank]));
  }
  return indices;
}

/// The data from which rank 0 makes a checkpoint.
struct Publication {
  const CheckpointWriter::Options& options;
  std::filesystem::path folder;
  TrainingState state;
  std::optional<BestCheckpoint> best;
  std::vector<std::string> shards;  // gathered from the ranks
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
    keep_newest(options.output, options.keep);
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
  const auto give_up = [&](const std::exception& error, bool full) {
    if (!publication.folder.empty()) abandon_save(publication.folder);
    outcome.again = full && has_room_now(publication);
    outcome.fault = error.what();
  };
  try {
    outcome.folder = commit(publication.folder, publication.state, indices_of(publication.shards),
                            options.tokenizer, options.kept);
    tidy_up(publication, outcome);
  } catch (const DiskFull& error) {
    give_up(error, true);
  } catch (const FileError& error) {
    give_up(error, is_full(error));
  } catch (const std::exception& error) {
    give_up(error, false);
  }
  return outcome;
}

}  // namespace

// A save has two phases. In `writing`, each rank writes its shard, and the result is a text: the
// shard's index, or an error that starts with kFault or kNoRoom. In `committing`, rank 0 checks the
// indices and publishes the checkpoint. Errors travel as texts, so a failure on any rank ends the
// save on all ranks without an exception. hear() enters the next phase when the notices show that
// no rank has to wait. In contrast, wait() enters it at once.

CheckpointWriter::CheckpointWriter(const Saving& saving, Options options)
    : saving_(saving), options_(std::move(options)) {}

std::string CheckpointWriter::write_beside() {
  comm::Communicator& world = saving_.grid().world();
  std::vector<CheckpointPiece> pieces = saving_.pieces();
  const std::string own = or_fault([&] {
    if (!pieces.empty()) copy_.emplace(saving_.backend(), saving_.stream(), std::move(pieces));
    return std::string();
  });
  Packer message;
  message.add(own);
  std::string lack;
  int rank = 0;
  for (Unpacker all(gather_to_all(world, message)); !all.empty(); ++rank)
    if (const std::string fault = all.text(); is_fault(fault) && lack.empty())
      lack = fmt::format("rank {}: {}", rank, fault.substr(1));
  beside_ = lack.empty();
  if (!beside_) copy_.reset();
  return lack;
}

void CheckpointWriter::begin(const TrainingState& state,
                             const std::optional<BestCheckpoint>& best) {
  state_ = state;
  best_ = best ? best : unmarked_;
  pieces_ = copy_ ? copy_->take() : saving_.pieces();
  start();
}

void CheckpointWriter::start() {
  comm::Communicator& world = saving_.grid().world();
  phase_ = Phase::writing;
  const auto start = [&] { return kFolder + start_save(options_.output, state_.step).string(); };
  const std::string word = comm::broadcast(world, world.rank() == 0 ? or_fault(start) : "");
  folder_ = is_fault(word) ? "" : word.substr(1);
  if (is_fault(word))
    writing_.emplace(world.rank() == 0 ? word : std::string());
  else
    write(folder_);
}

void CheckpointWriter::write(const std::filesystem::path& folder) {
  ShardWork work{.folder = folder,
                 .shard = saving_.shard_name(),
                 .pieces = pieces_,
                 .pauses = options_.pauses};
  const auto index_or_fault = [](const ShardWork& own, const std::stop_token& stop) {
    return or_fault([&] { return to_text(write_and_read_back(own, stop)); });
  };
  if (copy_) {
    writing_.emplace([work = std::move(work), index_or_fault](const std::stop_token& stop) {
      return index_or_fault(work, stop);
    });
    return;
  }
  HostWindow window(saving_.backend(), saving_.stream());
  work.bytes = [&](const layers::Tensor& tensor, std::size_t begin) {
    return window.read(tensor, begin);
  };
  writing_.emplace(work.pieces.empty() ? std::string() : index_or_fault(work, {}));
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
  const std::string own = writing_->take();
  writing_.reset();
  std::vector<std::string> shards = comm::gather(world, own);
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
  if (!comm::broadcast(world, std::string(outcome.again ? "again" : "")).empty()) {
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
