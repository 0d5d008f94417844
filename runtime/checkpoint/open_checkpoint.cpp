#include "runtime/checkpoint/open_checkpoint.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <ranges>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file_handle.h"
#include "base/quantities.h"
#include "comm/agree.h"
#include "comm/collectives.h"
#include "configs/named_keys.h"
#include "runtime/checkpoint/output_folder.h"
#include "runtime/checkpoint/remote/checkpoint_cache.h"
#include "runtime/checkpoint/remote/local_checkpoint.h"
#include "runtime/checkpoint/retention.h"

// There are two ways to a checkpoint. Evaluation names one, and a broken one is then an error.
// Resumption takes the newest intact one of an output folder and passes over broken ones, each with
// a line in the log.
//
// Both exist for one process and for all ranks of a job. With N ranks, each hashes about 1/N of the
// bytes, so that every byte is read once for verification, by whichever rank. Ranks then agree:
// rank 0 gathers the failures, decides, and tells the others.
//
// A failure to read is not proof of damage. A server that is away for a minute must not make a run
// resume from an older checkpoint, since set_aside() would then rename the newer one as broken. So
// only a missing file or wrong bytes count as broken. Any other FileError ends the search.

namespace penstock::runtime {
namespace {

/// Logs a warning for each key that the checkpoint's configuration has under an earlier name.
void warn_of_renamed_keys(const Checkpoint& checkpoint) {
  for (const std::string& line :
       configs::renaming_notes(checkpoint.state().config, checkpoint.folder().string()))
    spdlog::warn("{}", line);
}

Checkpoint open_verified(CheckpointPlace place) {
  Checkpoint checkpoint(std::move(place));
  checkpoint.verify();
  warn_of_renamed_keys(checkpoint);
  return checkpoint;
}

/// Throws the error for an output folder with `stored` checkpoints, none of which is usable.
[[noreturn]] void throw_none_whole(const std::filesystem::path& output, std::size_t stored) {
  throw CheckpointError(fmt::format(
      "{}: holds {}, but none is whole and of the step in its name: remove them to start afresh",
      output.string(), counted(static_cast<std::int64_t>(stored), "checkpoint")));
}

/// A checkpoint if this rank could open it and, on rank 0, the conclusion of all ranks.
struct Opened {
  std::optional<Checkpoint> checkpoint;
  RankVerdict verdict = {};
};

/// Opens the checkpoint, verifies this rank's share and gathers all results on rank 0. A failure
/// becomes a value, so that every rank reaches gather(); an exception would leave rank 0 waiting
/// there.
Opened open_shares(comm::Communicator& world, const CheckpointPlace& place, Verified verified) {
  Opened opened;
  const comm::Failure own = comm::failure_in([&] {
    opened.checkpoint.emplace(place, OpenShards::as_read);
    opened.checkpoint->verify(
        verified, {static_cast<std::size_t>(world.rank()), static_cast<std::size_t>(world.size())});
  });
  using Kind = comm::Failure::Kind;
  if (own.kind == Kind::config || own.kind == Kind::data)
    comm::raise(own);  // no fault of the files
  const std::vector<comm::Failure> failures = comm::gather(world, own);
  if (world.rank() == 0) opened.verdict = verdict(failures);
  return opened;
}

}  // namespace

// The cases are tried from the most special to the most general: BEST, a checkpoint's own folder,
// an output folder.
std::filesystem::path checkpoint_folder(const std::filesystem::path& path) {
  std::error_code ignored;  // treat errors as "not a folder"
  if (path.filename() == kBestFile && std::filesystem::is_regular_file(path, ignored))
    if (const auto best = best_checkpoint(path.parent_path()))
      return path.parent_path() / checkpoint_name(best->step);
  if (!std::filesystem::is_directory(path, ignored))
    throw CheckpointError(
        fmt::format("{}: neither a checkpoint's folder nor an output folder", path.string()));
  if (std::filesystem::exists(path / kManifestFile, ignored)) return path;
  const auto stored =
      list_labelled(path, [](const std::string& text) { spdlog::warn("{}", text); });
  if (stored.empty())
    throw CheckpointError(
        fmt::format("{}: holds neither {} nor checkpoints", path.string(), kManifestFile));
  return stored.back().folder;
}

Checkpoint open_checkpoint(const std::filesystem::path& name) {
  const CheckpointPlace place = local_checkpoint(name);
  try {
    return open_verified(place);
  } catch (const CheckpointError& error) {
    throw CheckpointError(with_remedy(place, error.what()));
  }
}

// An empty list and a list of broken checkpoints differ: a run may begin afresh in the former, but
// in the latter it would silently throw away what it has learned.
std::optional<Checkpoint> newest(const std::filesystem::path& output,
                                 const std::function<void(const std::string&)>& report) {
  const auto stored = list_labelled(output, report);
  for (const auto& candidate : std::views::reverse(stored)) {
    const auto pass_over = [&](const Error& error) {
      report(
          fmt::format("{} is passed over: {}", candidate.folder.filename().string(), error.what()));
    };
    try {
      return open_verified({candidate.folder});
    } catch (const FileError& error) {
      if (!error.missing()) throw;
      pass_over(error);
    } catch (const CheckpointError& error) {
      pass_over(error);
    }
  }
  const std::size_t all = list_checkpoints(output).size();
  if (all == 0) return std::nullopt;
  throw_none_whole(output, all);
}

// The first rank's failure stands for all. Damage to a tensor shows on one rank alone, since each
// of its pieces is one rank's. A missing folder shows on all.
RankVerdict verdict(const std::vector<comm::Failure>& failures) {
  const auto first =
      std::ranges::find_if(failures, [](const auto& failure) { return bool(failure); });
  if (first == failures.end()) return {};
  RankVerdict verdict{.fault = first->text,
                      .unreadable = first->kind == comm::Failure::Kind::file && !first->missing()};
  std::error_code ignored;
  if (first->missing() && std::filesystem::is_regular_file(first->path, ignored)) {
    verdict.unreadable = true;
    verdict.fault += ". Rank 0 has this file: put the folder where all ranks see it";
  }
  if (failures.size() > 1)
    verdict.fault = fmt::format("rank {}: {}", first - failures.begin(), verdict.fault);
  return verdict;
}

// Rank 0 alone resolves the name. If a save commits meanwhile, ranks could otherwise find different
// newest checkpoints. Every rank keeps a downloaded checkpoint in the cache by itself, since they
// need not end together.
Checkpoint open_together(comm::Communicator& world, const std::filesystem::path& name,
                         const Opening& how) {
  CheckpointPlace place;
  comm::run_on_rank_0(world, [&] { place = local_checkpoint(name, how.cache); });
  place.url = comm::broadcast(world, place.url);
  place.folder = comm::broadcast(world, place.folder.string());
  if (world.rank() != 0 && !place.url.empty()) place.in_use = CheckpointCache::hold(place.folder);
  Opened opened = open_shares(world, place, how.verified);
  comm::run_on_rank_0(world, [&] {
    if (!opened.verdict.fault.empty())
      throw CheckpointError(with_remedy(place, opened.verdict.fault));
    warn_of_renamed_keys(*opened.checkpoint);
    how.check(*opened.checkpoint);
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
    Opened opened = open_shares(world, {folder}, Verified::all);
    comm::run_on_rank_0(world, [&] {
      if (opened.verdict.unreadable) throw CheckpointError(opened.verdict.fault);
    });
    if (comm::answer_from_rank_0(world, opened.verdict.fault.empty())) {
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
