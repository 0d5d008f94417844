#include "runtime/data/manifest/nemo_shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/quantities.h"
#include "runtime/data/manifest/tar_member.h"

// The folder is listed once, and shards are found by the number in their names, whatever stands
// around it. Each tar is scanned once too (TarListings). So an utterance costs a lookup, or two if
// its name ends in -subN.

namespace penstock::runtime {
namespace {

std::map<std::int64_t, std::vector<std::filesystem::path>> shards_in(
    const std::filesystem::path& folder) {
  std::map<std::int64_t, std::vector<std::filesystem::path>> shards;
  std::error_code error;
  for (const auto& item : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = item.path().filename().string();
    const std::int64_t number = shard_number(name);
    if (name.starts_with("audio") && is_tar_name(name) && number >= 0)
      shards[number].push_back(item.path());
  }
  return shards;
}

/// Returns "a.wav" for "a-sub2.wav", and other names unchanged.
std::string without_sub(const std::string& name) {
  const std::size_t sub = name.rfind("-sub");
  if (sub == std::string::npos || sub == 0) return name;
  const std::size_t end = std::min(name.find_first_not_of("0123456789", sub + 4), name.size());
  const bool last = end > sub + 4 && (end == name.size() || name[end] == '.');
  return last ? name.substr(0, sub) + name.substr(end) : name;
}

std::filesystem::path or_here(const std::filesystem::path& folder) {
  return folder.empty() ? "." : folder;
}

}  // namespace

std::int64_t shard_number(const std::string& file_name) {
  for (std::size_t at = file_name.rfind('_'); at != std::string::npos && at > 0;
       at = file_name.rfind('_', at - 1)) {
    std::int64_t number = -1;
    const char* const first = file_name.data() + at + 1;
    const bool digit = at + 1 < file_name.size() && *first >= '0' && *first <= '9';
    if (digit &&
        std::from_chars(first, file_name.data() + file_name.size(), number).ec == std::errc())
      return number;
  }
  return -1;
}

NemoShards::NemoShards(const std::filesystem::path& manifest, TarListings& tars,
                       std::vector<std::filesystem::path>& sources)
    : folder_(manifest.parent_path()),
      above_(or_here(folder_) / ".."),
      shards_(shards_in(or_here(folder_))),
      tars_(tars),
      sources_(sources) {
  if (folder_.has_filename() && folder_.filename() != "..") above_ = folder_.parent_path();
  if (shards_.empty()) shards_ = shards_in(or_here(above_));
}

std::filesystem::path NemoShards::recording(std::int64_t shard, const std::string& name) {
  std::error_code error;
  if (shards_.empty() && std::filesystem::exists(folder_ / name, error)) return folder_ / name;
  const std::filesystem::path& tar = tar_of(shard);
  if (auto found = tars_.find(tar, name)) return *found;
  if (auto found = tars_.find(tar, without_sub(name))) return *found;
  throw DataError(tars_.missing(tar, name));
}

/// Returns the only tar of a shard. Throws DataError if there is none, or more than one.
const std::filesystem::path& NemoShards::tar_of(std::int64_t shard) {
  const auto found = shards_.find(shard);
  if (found == shards_.end()) {
    const std::string name = fmt::format("audio_{}.tar", shard);
    if (missing_.insert(shard).second)  // a source, so that adding the shard later is noticed
      sources_.insert(sources_.end(), {folder_ / name, above_ / name});
    const std::string others =
        shards_.empty()
            ? fmt::format(", nor any other shard there or in {}", or_here(above_).string())
            : fmt::format(" among the {} in {}", counted(std::ssize(shards_), "shard"),
                          or_here(shards_.begin()->second.front().parent_path()).string());
    throw DataError(
        fmt::format("is of shard {}, but there is no {} in {}{}: copy the shards beside "
                    "their manifest",
                    shard, name, or_here(folder_).string(), others));
  }
  if (found->second.size() > 1)
    throw DataError(fmt::format("is of shard {}, but {} and {} both are: leave one there", shard,
                                found->second[0].string(), found->second[1].string()));
  return found->second.front();
}

}  // namespace penstock::runtime
