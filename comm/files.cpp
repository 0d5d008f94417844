#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <system_error>
#include <utility>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/quantities.h"
#include "comm/join.h"

// A message is a file, and its name is its address: sender, receiver, tag, and its number among the
// messages of these three. Both sides count, so they agree on names without talking, and messages
// on an edge keep their order, whenever their files appear. A file is renamed to its name once it
// is complete, so a receiver that sees it reads it whole. It removes it afterwards, and the folder
// holds only messages on their way, besides a file rank-R for each rank that has joined. A file
// "ended" stands for abort(); ranks see it while they wait.
//
// Nothing is locked. Waiting is polling, at intervals that double, since the folder may lie on a
// shared disk.

namespace penstock::comm {
namespace {

namespace fs = std::filesystem;

/// Writes a message. The file gets its name only when it is complete.
void write_message(const fs::path& file, std::span<const std::byte> data) {
  try {
    AtomicFile message(file, ".part");
    message.write(data);
    message.commit(Flush::none);
  } catch (const FileError& error) {
    throw CommError(
        fmt::format("{}, a message between ranks, can't be written: {}. Check the disk's space and "
                    "the folder's permissions",
                    file.string(), error.code().message()));
  }
}

/// Paces how often a waiting rank looks at the folder. The interval doubles up to 5 ms, since every
/// look is an operation on a file system that all ranks share.
class Looks {
 public:
  bool due() {
    const auto now = Clock::now();
    if (now < next_) return false;
    next_ = now + pause_;
    pause_ = std::min(2 * pause_, kLongest);
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::duration kLongest = std::chrono::milliseconds(5);
  Clock::duration pause_ = std::chrono::microseconds(50);
  Clock::time_point next_;
};

class Sent final : public Transfer {
 public:
  bool done() override { return true; }
};

/// Sends a message as a file FROM-to-TO-tag-TAG-N, where N counts the messages of that sender,
/// receiver and tag. So the receiver knows the name of the next file, and removes it after reading.
class FilesCommunicator final : public Communicator {
 public:
  explicit FilesCommunicator(FilesOptions options) : options_(std::move(options)) {
    const fs::path mine = options_.folder / fmt::format("rank-{}", options_.rank);
    if (options_.rank < 0 || options_.rank >= options_.ranks)
      throw CommError(fmt::format("rank {} of {}: ranks are numbered from 0", options_.rank,
                                  counted(static_cast<std::size_t>(options_.ranks), "rank")));
    if (fs::exists(mine))
      throw CommError(fmt::format("rank {} has joined before in {}: give every job an empty folder",
                                  options_.rank, options_.folder.string()));
    write_message(mine, {});
  }

  int rank() const override { return options_.rank; }
  int size() const override { return options_.ranks; }

  std::unique_ptr<Transfer> send(const Message& message, std::span<const std::byte> data) override {
    write_message(next_file(options_.rank, message.peer, message, sent_), data);
    return std::make_unique<Sent>();
  }

  std::unique_ptr<Transfer> receive(const Message& message, std::span<std::byte> data) override;

  void progress() override {
    std::error_code none;
    if (looks_.due() && fs::exists(options_.folder / "ended", none))
      throw CommError("another rank has ended the job: see its error");
  }

  Shutdown& shutdown() override { return shutdown_; }

  [[noreturn]] void abort(int exit_code) override {
    write_message(options_.folder / "ended", {});
    throw CommError(
        fmt::format("rank {} ended the job with exit code {}", options_.rank, exit_code));
  }

 private:
  using Counts = std::map<std::pair<int, int>, std::uint64_t>;  // messages per (peer, tag)

  /// Returns the file of the next message from one rank to the other on this tag.
  fs::path next_file(int from, int to, const Message& message, Counts& counts) {
    if (message.peer < 0 || message.peer >= options_.ranks)
      throw CommError(fmt::format("peer rank {} ({}) does not exist: the job has {}", message.peer,
                                  message.what,
                                  counted(static_cast<std::size_t>(options_.ranks), "rank")));
    const std::uint64_t number = counts[{message.peer, message.tag}]++;
    return options_.folder / fmt::format("{}-to-{}-tag-{}-{}", from, to, message.tag, number);
  }

  FilesOptions options_;
  Counts sent_, received_;
  Looks looks_;
  Shutdown shutdown_;
};

class Received final : public Transfer {
 public:
  Received(FilesCommunicator& world, Message message, fs::path file, std::span<std::byte> data)
      : world_(world), message_(std::move(message)), file_(std::move(file)), data_(data) {}

  bool done() override {
    if (!done_) take();
    return done_;
  }

 private:
  void take() {
    std::error_code error;
    if (!looks_.due()) return;
    if (!fs::exists(file_, error)) return world_.progress();
    if (const auto bytes = fs::file_size(file_); bytes != data_.size())
      throw CommError(fmt::format(
          "rank {}, receiving {} bytes ({}), peer rank {}, tag {}: {} bytes came", world_.rank(),
          data_.size(), message_.what, message_.peer, message_.tag, bytes));
    std::ifstream stream(file_, std::ios::binary);
    if (!stream.read(reinterpret_cast<char*>(data_.data()), data_.size()))
      throw CommError(fmt::format("{}, a message between ranks, can't be read", file_.string()));
    fs::remove(file_);
    done_ = true;
  }

  FilesCommunicator& world_;
  Message message_;
  fs::path file_;
  std::span<std::byte> data_;
  Looks looks_;
  bool done_ = false;
};

std::unique_ptr<Transfer> FilesCommunicator::receive(const Message& message,
                                                     std::span<std::byte> data) {
  return std::make_unique<Received>(
      *this, message, next_file(message.peer, options_.rank, message, received_), data);
}

}  // namespace

std::unique_ptr<Communicator> join_files(const FilesOptions& options) {
  return std::make_unique<FilesCommunicator>(options);
}

}  // namespace penstock::comm
