#include "runtime/checkpoint/open_together.h"

#include <fmt/format.h>

#include <vector>

#include "base/error.h"
#include "comm/collectives.h"
#include "comm/run_on_rank_0.h"
#include "runtime/checkpoint/newest.h"
#include "runtime/checkpoint/rank_messages.h"
#include "runtime/checkpoint/step_label.h"

namespace penstock::runtime {
namespace {

/// A checkpoint if this rank could open it and, on rank 0, the conclusion of all ranks.
struct Opened {
  std::optional<Checkpoint> checkpoint;
  RankVerdict verdict = {};
};

/// Opens the checkpoint, verifies this rank's share and gathers all results on rank 0.
Opened open_shares(comm::Communicator& world, const std::filesystem::path& folder,
                   Verified verified) {
  Opened opened;
  const std::string own = rank_message([&] {
    opened.checkpoint.emplace(folder, OpenShards::as_read);
    opened.checkpoint->verify(
        verified, {static_cast<std::size_t>(world.rank()), static_cast<std::size_t>(world.size())});
  });
  const std::vector<std::string> words = comm::gather(world, own);
  if (world.rank() == 0) opened.verdict = verdict(words);
  return opened;
}

}  // namespace

Checkpoint open_together(comm::Communicator& world, const std::filesystem::path& path,
                         Verified verified, const std::function<void(const Checkpoint&)>& check) {
  std::string folder;
  comm::run_on_rank_0(world, [&] { folder = checkpoint_folder(path).string(); });
  Opened opened = open_shares(world, comm::broadcast(world, folder), verified);
  comm::run_on_rank_0(world, [&] {
    if (!opened.verdict.fault.empty()) throw CheckpointError(opened.verdict.fault);
    warn_of_renamed_keys(*opened.checkpoint);
    check(*opened.checkpoint);
  });
  return std::move(*opened.checkpoint);
}

// Tries the checkpoints from the newest to the oldest. Rank 0 chooses the candidate; all ranks
// verify it together, and rank 0 broadcasts the result.
std::optional<Checkpoint> newest_together(comm::Communicator& world,
                                          const std::filesystem::path& output,
                                          const std::function<void(const std::string&)>& report) {
  const bool leads = world.rank() == 0;
  std::vector<StoredCheckpoint> left;
  if (leads) left = list_labelled(output, report);
  const std::size_t stored = leads ? list_checkpoints(output).size() : 0;
  while (true) {
    comm::run_on_rank_0(world, [&] {
      if (stored > 0 && left.empty()) throw_none_whole(output, stored);
    });
    const std::string folder =
        comm::broadcast(world, left.empty() ? std::string() : left.back().folder.string());
    if (folder.empty()) return std::nullopt;
    Opened opened = open_shares(world, folder, Verified::all);
    comm::run_on_rank_0(world, [&] {
      if (opened.verdict.unreadable) throw CheckpointError(opened.verdict.fault);
    });
    const std::string broken = comm::broadcast(world, opened.verdict.fault);
    if (broken.empty()) {
      if (leads) warn_of_renamed_keys(*opened.checkpoint);
      return std::move(opened.checkpoint);
    }
    if (!leads) continue;
    report(fmt::format("{} is passed over: {}", left.back().folder.filename().string(),
                       opened.verdict.fault));
    left.pop_back();
  }
}

}  // namespace penstock::runtime
