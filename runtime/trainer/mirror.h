#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/checkpoint/remote/remote_run.h"
#include "runtime/store/store_url.h"

namespace penstock::runtime {

/// Uploads a run's checkpoints to an object store, in a thread of low priority on rank 0, while
/// training goes on. The newest committed one is next; those that are older are left out. A failed
/// upload is logged and tried again until it succeeds or a newer checkpoint is there, from where it
/// was. After each upload, old checkpoints of the store are removed. Nothing here ends training.
class Mirror {
 public:
  struct Options {
    StoreUrl url;
    std::filesystem::path output;
    int keep = 1;
    /// The end of the run waits so long without a byte that arrives.
    std::chrono::duration<double> patience = std::chrono::seconds(600);
    /// Pauses between the attempts at a checkpoint.
    RetryRules pauses = {
        .first = std::chrono::seconds(1), .longest = std::chrono::seconds(60), .seconds = 1e18};
    HttpOptions http = {.retries = {.seconds = 60}};
  };
  explicit Mirror(Options options);
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;
  /// Ends an upload at once.
  ~Mirror();

  /// Adds a committed checkpoint. Any thread may call it.
  void offer(const std::filesystem::path& checkpoint);
  /// Returns true if the checkpoint of that step is being uploaded or is next, so that it must
  /// stay.
  [[nodiscard]] bool uses(std::int64_t step) const;
  /// Returns true if uploads are under way.
  [[nodiscard]] bool busy() const;
  /// Waits until the last checkpoint is uploaded, or until patience ends. Returns "", or what is
  /// missing and why.
  [[nodiscard]] std::string finish();

 private:
  void run(const std::stop_token& stop);
  bool upload(const std::filesystem::path& checkpoint, const std::stop_token& stop);
  void upload_companions(RemoteRun& run);

  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::filesystem::path next_, current_;  // "": none
  std::string fault_;                     // of the last attempt; "" after a success
  std::uint64_t bytes_ = 0;               // that the store has, of all checkpoints
  std::map<std::filesystem::path, std::uintmax_t> uploaded_events_;  // bytes that the store has
  std::jthread thread_;                                              // last: it uses the others
};

}  // namespace penstock::runtime
