#include "runtime/trainer/shard_work.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <span>

#include "base/error.h"
#include "runtime/checkpoint/shard.h"

namespace penstock::runtime {
namespace {

constexpr std::size_t kPartBytes = 4 << 20;  // written between two checks of `stop`

void go_on_unless(const std::stop_token& stop) {
  if (stop.stop_requested()) throw CheckpointError("the run ends before the checkpoint is written");
}

// Writes and reads back in parts, and looks between them whether the run ends, so that the end does
// not wait for a whole shard.
ShardIndex try_once(const ShardWork& work, const std::stop_token& stop) {
  const auto between = [&] { go_on_unless(stop); };
  ShardIndex index = write_shard(work.folder, work.shard, work.pieces,
                                 [&](const layers::Tensor& tensor, std::size_t begin) {
                                   between();
                                   const auto left = work.bytes(tensor, begin);
                                   return left.first(std::min(left.size(), kPartBytes));
                                 });
  read_back(work.folder, index, between);
  return index;
}

/// Waits, but returns early if `stop` is requested.
void pause(std::chrono::milliseconds length, const std::stop_token& stop) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any().wait_for(lock, stop, length, [] { return false; });
}

}  // namespace

ShardIndex write_and_read_back(const ShardWork& work, const std::stop_token& stop) {
  for (const std::chrono::milliseconds length : work.pauses) {
    try {
      return try_once(work, stop);
    } catch (const std::exception& error) {
      go_on_unless(stop);
      spdlog::warn("{}; it is tried again in {:g} s", error.what(),
                   std::chrono::duration<double>(length).count());
    }
    pause(length, stop);
    go_on_unless(stop);
  }
  return try_once(work, stop);
}

}  // namespace penstock::runtime
