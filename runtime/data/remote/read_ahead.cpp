#include "runtime/data/remote/read_ahead.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace penstock::runtime {

struct ReadAhead::Item {
  enum class State { waiting, opening, open };

  std::filesystem::path recording;
  State state = State::waiting;
  std::optional<LocalFile> file = {};
  std::int64_t bytes = 0;
  std::exception_ptr failure = {};
};

namespace {

std::int64_t size(const LocalFile& file) {
  struct stat status = {};
  const bool known = file.in_use && ::fstat(file.in_use->descriptor(), &status) == 0;
  return known ? status.st_size : 0;
}

}  // namespace

ReadAhead::ReadAhead(std::shared_ptr<RemoteFiles> files, const ReadAheadOptions& options)
    : files_(std::move(files)), options_(options) {
  constexpr std::uint64_t kShare = 16;
  options_.bytes = std::min(options_.bytes, static_cast<std::int64_t>(files_->limit() / kShare));
}

ReadAhead::~ReadAhead() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  work_.notify_all();
}

void ReadAhead::push(const std::filesystem::path& recording) {
  if (!files_->holds(recording)) return;
  const std::lock_guard lock(mutex_);
  while (std::ssize(threads_) < options_.threads) threads_.emplace_back([this] { run(); });
  items_.push_back(std::make_shared<Item>(Item{recording}));
  work_.notify_one();
}

/// Returns the item to open next, or null if there is none or the bounds are reached. The caller
/// holds the mutex.
std::shared_ptr<ReadAhead::Item> ReadAhead::next() {
  if (begun_ >= options_.recordings || (begun_ > 0 && bytes_ >= options_.bytes)) return nullptr;
  const auto item =
      std::ranges::find(items_, Item::State::waiting, [](const auto& each) { return each->state; });
  return item == items_.end() ? nullptr : *item;
}

void ReadAhead::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    std::shared_ptr<Item> item;
    work_.wait(lock, [&] { return stopping_ || (item = next()) != nullptr; });
    if (stopping_) return;
    item->state = Item::State::opening;
    ++begun_;
    lock.unlock();
    try {
      item->file.emplace(files_->open(item->recording, TarPart::member));
      item->bytes = size(*item->file);
    } catch (...) {
      item->failure = std::current_exception();
    }
    lock.lock();
    item->state = Item::State::open;
    bytes_ += item->bytes;
    ready_.notify_all();
  }
}

LocalFile ReadAhead::take(const std::filesystem::path& recording) {
  std::unique_lock lock(mutex_);
  const auto found = std::ranges::find_if(
      items_, [&](const auto& each) { return each->recording.native() == recording.native(); });
  if (found == items_.end()) {
    lock.unlock();
    return files_->open(recording, TarPart::member);
  }
  const std::shared_ptr<Item> item = *found;
  items_.erase(found);
  if (item->state == Item::State::waiting) {
    lock.unlock();
    return files_->open(recording, TarPart::member);
  }
  ready_.wait(lock, [&] { return item->state == Item::State::open; });
  --begun_;
  bytes_ -= item->bytes;
  work_.notify_all();
  if (item->failure) std::rethrow_exception(item->failure);
  return std::move(*item->file);
}

}  // namespace penstock::runtime
