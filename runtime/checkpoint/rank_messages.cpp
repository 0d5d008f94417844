#include "runtime/checkpoint/rank_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/file_handle.h"

namespace penstock::runtime {
namespace {

// The first character of a message: the checkpoint is broken, may be intact, or lacks a file. In
// the last case, the file's name follows on a line of its own.
constexpr char kBroken = '-', kUnreadable = '!', kMissing = '?';

struct Word {
  char kind = kBroken;
  std::string missing = {};  // the file's path
  std::string why = {};
};

Word parsed(const std::string& word) {
  if (word.front() != kMissing) return {.kind = word.front(), .why = word.substr(1)};
  const std::size_t end = word.find('\n');
  return {kMissing, word.substr(1, end - 1), word.substr(end + 1)};
}

}  // namespace

std::string rank_message(const std::function<void()>& open) {
  try {
    open();
  } catch (const FileError& error) {
    if (error.missing())
      return fmt::format("{}{}\n{}", kMissing, error.path().string(), error.what());
    return kUnreadable + std::string(error.what());
  } catch (const CheckpointError& error) {
    return kBroken + std::string(error.what());
  }
  return {};
}

RankVerdict verdict(const std::vector<std::string>& words) {
  const auto first = std::ranges::find_if(words, [](const auto& word) { return !word.empty(); });
  if (first == words.end()) return {};
  const Word word = parsed(*first);
  RankVerdict verdict{word.why, word.kind == kUnreadable};
  std::error_code ignored;
  if (word.kind == kMissing && std::filesystem::exists(word.missing, ignored)) {
    verdict.unreadable = true;
    verdict.fault += ". Rank 0 has this file: put the folder where all ranks see it";
  }
  if (words.size() > 1)
    verdict.fault = fmt::format("rank {}: {}", first - words.begin(), verdict.fault);
  return verdict;
}

}  // namespace penstock::runtime
