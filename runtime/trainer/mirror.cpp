#include "runtime/trainer/mirror.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <optional>
#include <utility>
#include <vector>

#include "runtime/checkpoint/output_folder.h"
#include "runtime/checkpoint/retention.h"
#include "runtime/store/store_error.h"
#include "runtime/store/transfer.h"
#include "runtime/trainer/event_file.h"

namespace penstock::runtime {
namespace {

bool names_step(const std::filesystem::path& checkpoint, std::int64_t step) {
  return checkpoint.filename().string() == checkpoint_name(step);
}

}  // namespace

Mirror::Mirror(Options options)
    : options_(std::move(options)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

Mirror::~Mirror() {
  thread_.request_stop();
  changed_.notify_all();
}

void Mirror::offer(const std::filesystem::path& checkpoint) {
  const std::lock_guard lock(mutex_);
  next_ = checkpoint;
  changed_.notify_all();
}

bool Mirror::uses(std::int64_t step) const {
  const std::lock_guard lock(mutex_);
  return names_step(next_, step) || names_step(current_, step);
}

bool Mirror::busy() const {
  const std::lock_guard lock(mutex_);
  return !next_.empty() || !current_.empty();
}

// Each look is a second later at most. Patience counts from the last byte that arrived.
std::string Mirror::finish() {
  using Clock = std::chrono::steady_clock;
  std::unique_lock lock(mutex_);
  std::uint64_t seen = bytes_;
  for (auto last = Clock::now(); !next_.empty() || !current_.empty();) {
    changed_.wait_for(lock, std::chrono::seconds(1));
    if (bytes_ != std::exchange(seen, bytes_)) last = Clock::now();
    if (Clock::now() - last < options_.patience) continue;
    const std::string name = (current_.empty() ? next_ : current_).filename().string();
    return fmt::format("{} is not in {} yet: {}", name, options_.url.text(),
                       fault_.empty() ? "its upload makes no progress" : fault_);
  }
  if (fault_.empty()) return "";
  return fmt::format("the last checkpoint is not in {}: {}", options_.url.text(), fault_);
}

// The thread's loop takes the newest checkpoint and keeps at it. If an attempt fails and a newer
// one is there, that one is next.
void Mirror::run(const std::stop_token& stop) {
  (void)!::nice(10);  // this thread's on Linux; as low as the loader's
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return !next_.empty(); })) {
    current_ = std::exchange(next_, {});
    Backoff backoff(options_.pauses);
    while (next_.empty() && !stop.stop_requested()) {
      lock.unlock();
      const bool done = upload(current_, stop);
      lock.lock();
      if (done) break;
      if (const auto pause = backoff.next())
        changed_.wait_for(lock, stop, *pause, [this] { return !next_.empty(); });
    }
    current_.clear();
    changed_.notify_all();
  }
}

/// Uploads the files beside the checkpoints, which people read: the mark of the best, and metrics.
/// An event file that has not grown since is not uploaded again.
void Mirror::upload_companions(RemoteRun& run) {
  const auto upload = [&](const std::string& name) {
    if (std::filesystem::exists(options_.output / name))
      upload_file(run.store(), run.key(name), options_.output / name);
  };
  upload(kBestFile);
  upload(kMetricsFile);
  for (const std::filesystem::path& file : list_event_files(options_.output)) {
    const std::uintmax_t bytes = std::filesystem::file_size(file);
    std::uintmax_t& uploaded = uploaded_events_[file];
    if (bytes == uploaded) continue;
    upload(file.filename().string());
    uploaded = bytes;
  }
}

/// Returns true if nothing more is to be done for this checkpoint: it is uploaded, or gone. Keys
/// are read anew for each attempt, since temporary ones are renewed.
bool Mirror::upload(const std::filesystem::path& checkpoint, const std::stop_token& stop) {
  const std::string name = checkpoint.filename().string();
  try {
    HttpOptions http = options_.http;
    http.stop = stop;
    RemoteRun run(options_.url, http);
    const auto progress = [this](std::uint64_t bytes) {
      const std::lock_guard lock(mutex_);
      bytes_ += bytes;
    };
    const RemoteCheckpoint uploaded = run.upload(checkpoint, progress);
    spdlog::info("{} is in {}", name, options_.url.text());
    const std::optional<BestCheckpoint> best = best_checkpoint(options_.output);
    if (best)  // it may be one that was left out
      run.upload(options_.output / checkpoint_name(best->step), progress);
    upload_companions(run);
    run.remove_old({.keep = options_.keep,
                    .uploaded = uploaded,
                    .best = best ? std::optional(best->step) : std::nullopt});
    const std::lock_guard lock(mutex_);
    fault_.clear();
    return true;
  } catch (const std::exception& error) {
    if (stop.stop_requested()) return true;
    const bool gone = !std::filesystem::exists(checkpoint);
    const std::lock_guard lock(mutex_);
    if (std::exchange(fault_, error.what()) != error.what())  // each reason is logged once
      spdlog::warn("{} can't be uploaded to {}: {}{}", name, options_.url.text(), fault_,
                   gone ? "" : "\nIt is tried again.");
    return gone;
  }
}

}  // namespace penstock::runtime
