#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/data/remote/remote_files.h"

namespace penstock::runtime {

struct ReadAheadOptions {
  int threads = 8;                 // downloads at a time
  std::int64_t bytes = 256 << 20;  // bound on what is open ahead, and a sixteenth of the cache;
                                   // one recording may exceed it
  std::size_t recordings = 256;    // bound on their number
};

/// Opens recordings in threads, in the order in which they are announced, before they are taken.
/// Each stays open until then, so that the cache keeps it. What is taken depends on no timing.
class ReadAhead {
 public:
  ReadAhead(std::shared_ptr<RemoteFiles> files, const ReadAheadOptions& options);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// Announces a recording. Never blocks. Recordings of this machine are ignored.
  void push(const std::filesystem::path& recording);

  /// Returns a recording, and opens it now if nobody has announced it or it is not its turn yet.
  /// Throws like RemoteFiles::open().
  [[nodiscard]] LocalFile take(const std::filesystem::path& recording);

 private:
  struct Item;
  void run();
  [[nodiscard]] std::shared_ptr<Item> next();

  std::shared_ptr<RemoteFiles> files_;
  ReadAheadOptions options_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable work_, ready_;
  std::deque<std::shared_ptr<Item>> items_;  // announced and not taken
  std::int64_t bytes_ = 0;                   // of the recordings that are open
  std::size_t begun_ = 0;                    // items that are open or being opened
  bool stopping_ = false;
  std::vector<std::jthread> threads_;  // declared last: they join before the rest is destroyed
};

}  // namespace penstock::runtime
