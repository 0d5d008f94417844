#include "runtime/checkpoint/open_together.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/counted.h"
#include "base/file_handle.h"
#include "comm/collectives.h"
#include "runtime/checkpoint/newest.h"
#include "runtime/checkpoint/output_folder.h"

namespace penstock::runtime {
namespace {

// What begins a rank's word of a checkpoint that is not whole, and of one that may be.
constexpr char kBroken = '-', kUnreadable = '!';

/// A checkpoint as far as this rank could open it, and, on rank 0, what any rank has found.
struct Opened {
  std::optional<Checkpoint> checkpoint;
  std::string fault = {};  // "": none

  bool unreadable() const { return !fault.empty() && fault.front() == kUnreadable; }
  std::string why() const { return fault.substr(1); }
};

/// Verifies this rank's share. Returns its word.
std::string open_share(const comm::Communicator& world, const std::filesystem::path& folder,
                       Verified verified, std::optional<Checkpoint>& checkpoint) {
  try {
    checkpoint.emplace(folder, OpenShards::as_read);
    checkpoint->verify(
        verified, {static_cast<std::size_t>(world.rank()), static_cast<std::size_t>(world.size())});
  } catch (const FileError& error) {
    return (error.missing() ? kBroken : kUnreadable) + std::string(error.what());
  } catch (const CheckpointError& error) {
    return kBroken + std::string(error.what());
  }
  return {};
}

Opened open_shares(comm::Communicator& world, const std::filesystem::path& folder,
                   Verified verified) {
  Opened opened;
  const std::string own = open_share(world, folder, verified, opened.checkpoint);
  const std::vector<std::string> words = comm::gather(world, own);
  const auto first = std::ranges::find_if(words, [](const auto& word) { return !word.empty(); });
  if (first != words.end()) opened.fault = *first;
  return opened;
}

}  // namespace

Checkpoint open_together(comm::Communicator& world, const std::filesystem::path& path,
                         Verified verified, const std::function<void(const Checkpoint&)>& check) {
  const bool leads = world.rank() == 0;
  const std::string folder =
      comm::broadcast(world, leads ? checkpoint_folder(path).string() : std::string());
  Opened opened = open_shares(world, folder, verified);
  if (!opened.fault.empty()) throw CheckpointError(opened.why());
  if (leads) {
    warn_of_renamed_keys(*opened.checkpoint);
    check(*opened.checkpoint);
  }
  comm::barrier(world);
  return std::move(*opened.checkpoint);
}

std::optional<Checkpoint> newest_together(comm::Communicator& world,
                                          const std::filesystem::path& output,
                                          const std::function<void(const std::string&)>& report) {
  const bool leads = world.rank() == 0;
  std::vector<StoredCheckpoint> left;
  if (leads) left = list_checkpoints(output);
  const std::size_t stored = left.size();
  while (true) {
    if (leads && stored > 0 && left.empty())
      throw CheckpointError(
          fmt::format("{}: holds {}, but none is whole: remove them to start "
                      "afresh",
                      output.string(), counted(stored, "checkpoint")));
    const std::string folder =
        comm::broadcast(world, left.empty() ? std::string() : left.back().folder.string());
    if (folder.empty()) return std::nullopt;
    Opened opened = open_shares(world, folder, Verified::all);
    if (opened.unreadable()) throw CheckpointError(opened.why());
    const std::string broken = comm::broadcast(world, opened.fault);
    if (broken.empty()) {
      if (leads) warn_of_renamed_keys(*opened.checkpoint);
      return std::move(opened.checkpoint);
    }
    if (!leads) continue;
    report(
        fmt::format("{} is passed over: {}", left.back().folder.filename().string(), opened.why()));
    left.pop_back();
  }
}

}  // namespace penstock::runtime
