#include "runtime/checkpoint/remote/fetch.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <vector>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/quantities.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/output_folder.h"
#include "runtime/checkpoint/retention.h"
#include "runtime/store/store_error.h"
#include "runtime/store/transfer.h"

// A download is committed as a save is: files are written to checkpoint-N.partial and flushed, the
// manifest last, then every byte is verified, and then the folder is renamed. What a download that
// died has left is removed with the remains of saves.

namespace penstock::runtime {
namespace {

constexpr const char* kMetrics = "metrics.jsonl";

void download_files(RemoteRun& run, const RemoteCheckpoint& checkpoint, const Manifest& manifest,
                    const std::filesystem::path& folder) {
  for (const NamedFile& file : files_of(manifest)) {
    const std::string key = run.key(checkpoint, file.name);
    const auto object = run.store().head(key);
    if (!object)
      throw StoreError(StoreError::Kind::missing,
                       fmt::format("{} is not there", run.store().text(key)));
    if (file.bytes && object->bytes != *file.bytes)
      throw CheckpointError(fmt::format("{} has {} bytes, but the manifest says {}",
                                        run.store().text(key), object->bytes, *file.bytes));
    std::filesystem::create_directories((folder / file.name).parent_path());
    download_file(run.store(), *object, folder / file.name);
  }
}

/// Downloads metrics.jsonl if the folder has none, so that its lines go on.
void fetch_metrics(RemoteRun& run, const std::filesystem::path& output) {
  const std::filesystem::path file = output / kMetrics;
  const auto object = run.store().head(run.key(kMetrics));
  if (std::filesystem::exists(file) || !object) return;
  const std::filesystem::path partial = output / ".metrics.partial";
  download_file(run.store(), *object, partial);
  std::filesystem::rename(partial, file);
}

/// Downloads the best checkpoint that the one in `folder` knows of, if the output folder lacks it.
/// The newest is enough to go on, so a failure is only logged.
void fetch_best(RemoteRun& run, const std::vector<RemoteCheckpoint>& stored,
                const std::filesystem::path& folder, const RemoteNote& note) {
  const TrainingState state = read_manifest(folder).state;
  const std::filesystem::path output = folder.parent_path();
  if (state.best_metric.empty() ||
      std::filesystem::exists(output / checkpoint_name(state.best_step)))
    return;
  for (const RemoteCheckpoint& each : stored | std::views::reverse) {
    if (each.step != state.best_step) continue;
    try {
      (void)download_checkpoint(run, each, output);
      return note(fmt::format("the best checkpoint, of step {}, is downloaded too", each.step));
    } catch (const Error& error) {
      note(fmt::format("the best checkpoint can't be downloaded: {}", error.what()));
    }
  }
}

/// Returns the step of the newest checkpoint in the folder; -1 if there is none.
std::int64_t newest_step(const std::filesystem::path& output) {
  const std::vector<StoredCheckpoint> stored = list_labelled(output);
  return stored.empty() ? -1 : stored.back().step;
}

}  // namespace

std::filesystem::path download_checkpoint(RemoteRun& run, const RemoteCheckpoint& checkpoint,
                                          const std::filesystem::path& output) {
  const auto text = run.manifest(checkpoint);
  if (!text)
    throw StoreError(StoreError::Kind::missing,
                     fmt::format("{}/{} has no manifest", run.text(), checkpoint.name));
  const Manifest manifest = parse_manifest(*text);
  if (remote_checkpoint(manifest, *text).name != checkpoint.name)
    throw CheckpointError(
        fmt::format("{}/{} has the manifest of another checkpoint", run.text(), checkpoint.name));
  make_output(output);
  std::filesystem::path committed = output / checkpoint_name(checkpoint.step);
  std::filesystem::path partial = committed;
  partial += ".partial";
  std::filesystem::remove_all(partial);
  std::filesystem::create_directory(partial);
  download_files(run, checkpoint, manifest, partial);
  write_durably(partial / kManifestFile, *text);
  Checkpoint(partial).verify();
  move_folder(partial, committed);
  return committed;
}

// Candidates are tried from the newest. One that is gone or broken is passed over. If the store
// can't be reached the run must not begin from an older state, so that error passes.
void fetch_newest(RemoteRun& run, const std::filesystem::path& output, const RemoteNote& note) {
  const std::int64_t own = newest_step(output);
  const std::vector<RemoteCheckpoint> stored = run.list();
  std::size_t failed = 0;
  for (const RemoteCheckpoint& each : stored | std::views::reverse) {
    if (each.step <= own) break;
    const auto pass_over = [&](const Error& error) {
      ++failed;
      note(fmt::format("{}/{} is passed over: {}", run.text(), each.name, error.what()));
    };
    try {
      note(fmt::format("the newest checkpoint is {}/{}: it is downloaded to {}", run.text(),
                       each.name, output.string()));
      const std::filesystem::path folder = download_checkpoint(run, each, output);
      fetch_best(run, stored, folder, note);
      return fetch_metrics(run, output);
    } catch (const StoreError& error) {
      if (error.kind() != StoreError::Kind::missing) throw;
      pass_over(error);
    } catch (const CheckpointError& error) {
      pass_over(error);
    }
  }
  if (failed > 0 && own < 0)
    throw CheckpointError(
        fmt::format("{} holds {}, but none is whole: remove them to begin anew, or choose another "
                    "trainer.mirror",
                    run.text(), counted(static_cast<std::int64_t>(failed), "checkpoint")));
}

void require_no_checkpoints(RemoteRun& run) {
  if (!run.list().empty())
    throw CheckpointError(
        fmt::format("{} already holds checkpoints: set trainer.resume=true to go on from the "
                    "newest, or choose another place for this run",
                    run.text()));
}

}  // namespace penstock::runtime
