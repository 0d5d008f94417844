#include "runtime/data/index/index_draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/mapped_file.h"
#include "runtime/data/index/index_layout.h"
#include "runtime/data/index/stream_hash.h"
#include "runtime/data/index/utterance_index.h"
#include "runtime/data/manifest/manifest.h"
#include "runtime/data/manifest/tar_member.h"
#include "runtime/data/remote/remote_files.h"
#include "runtime/data/remote/remote_url.h"

// A manifest is read once, line by line, and each line is written to two scratch files: its numbers
// to one, its strings to the other. Then the recordings are numbered by their first lines, since
// lines may be segments of one recording, and a recording is measured once. For that, lines are
// sorted by the hash of their path. Lines of equal hashes are adjacent, and the smallest line
// number comes first, so one pass tells each line the first line of its recording, and another pass
// turns those into numbers. It takes O(n log n) time for n lines.

namespace penstock::runtime {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

template <class Item>
std::string_view bytes_of(const Item& item) {
  return {reinterpret_cast<const char*>(&item), sizeof item};
}

/// Writes lines and their strings to scratch files.
class LineWriter {
 public:
  LineWriter(const std::filesystem::path& folder, const RemoteFiles* files, ScratchFile& lines,
             ScratchFile& strings)
      : folder_(folder), files_(files), lines_(lines), strings_(strings) {}

  void add(const ManifestEntry& entry) {
    std::string path = key_of(entry.audio, folder_);
    // The mirror may lie elsewhere on another machine.
    if (path.starts_with('/') && files_ != nullptr) path = files_->name(path);
    if (path != last_path_) {
      last_.path_hash = hash_of(path);
      last_.path_at = strings_.size();
      strings_.write(bytes_of(std::uint64_t{path.size()}));
      strings_.write(path);
      last_path_ = std::move(path);
    }
    last_.offset = entry.offset.value_or(kNone);
    last_.text_at = strings_.size();
    strings_.write(bytes_of(IndexLine{.text = entry.text.size(),
                                      .language = entry.language.size(),
                                      .where = entry.where.size(),
                                      .duration = entry.duration.value_or(kNone)}));
    strings_.write(entry.text);
    strings_.write(entry.language);
    strings_.write(entry.where);
    lines_.write(bytes_of(last_));
  }

 private:
  const std::filesystem::path& folder_;
  const RemoteFiles* files_;
  ScratchFile &lines_, &strings_;
  std::optional<std::string> last_path_;
  IndexDraft::Line last_;
};

}  // namespace

IndexDraft::IndexDraft(const std::filesystem::path& manifest, RemoteFiles* files, bool texts)
    : folder_(folder_of(manifest)) {
  made_ = std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
  read(manifest, files, texts);
  number_recordings();
}

void IndexDraft::read(const std::filesystem::path& manifest, RemoteFiles* files, bool texts) {
  // The stamp is taken before reading, so that a file that changes meanwhile does not pass as
  // unchanged.
  const FileStamp before = stamp_of(manifest);
  ScratchFile lines, strings;
  LineWriter writer(folder_, files, lines, strings);
  ManifestSink sink{[&](const ManifestEntry& entry) { writer.add(entry); }, {}, files, texts};
  read_manifest(manifest, sink, faults_);
  for (const auto& source : sink.sources) {
    sources_.push_back(
        source_of(source, key_of(source, folder_), source == manifest ? before : stamp_of(source)));
    if (sources_.back().stamp.changed >= made_) sources_.back().digest = 0;
  }
  file_ = lines.map();
  strings_ = strings.map();
  lines_ = {reinterpret_cast<const Line*>(file_.bytes().data()),
            file_.bytes().size() / sizeof(Line)};
  if (lines_.size() > std::numeric_limits<std::uint32_t>::max())
    throw DataError(fmt::format("{}: its {} lines are more than an index can hold: divide it",
                                manifest.string(), lines_.size()));
}

void IndexDraft::number_recordings() {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> by_path(lines_.size());
  for (std::uint32_t i = 0; i < by_path.size(); ++i) by_path[i] = {lines_[i].path_hash, i};
  std::ranges::sort(by_path);
  recordings_of_.resize(lines_.size());
  // Each line first points to the first line that names the same recording. If two paths share a
  // hash, a recording may count more than once.
  for (std::size_t i = 0, first = 0; i < by_path.size(); ++i) {
    if (by_path[i].first != by_path[first].first) first = i;
    const std::uint32_t line = by_path[i].second, before = by_path[first].second;
    const bool same = path(lines_[line]) == path(lines_[before]);
    recordings_of_[line] = same ? before : line;
  }
  for (std::uint32_t i = 0; i < lines_.size(); ++i) {
    if (recordings_of_[i] < i) {
      recordings_of_[i] = recordings_of_[recordings_of_[i]];
      continue;
    }
    recordings_of_[i] = static_cast<std::uint32_t>(first_lines_.size());
    first_lines_.push_back(i);
  }
}

std::string_view IndexDraft::path(const Line& line) const {
  std::uint64_t size = 0;
  std::memcpy(&size, strings().data() + line.path_at, sizeof size);
  return strings().substr(line.path_at + sizeof size, size);
}

std::string IndexDraft::recording_name(const Line& line) const {
  const std::string key(path(line));
  return manifest_name(is_remote_url(key) ? std::filesystem::path(key) : folder_ / key);
}

double IndexDraft::duration(const Line& line) const {
  IndexLine read;
  std::memcpy(&read, strings().data() + line.text_at, sizeof read);
  return read.duration;
}

std::string_view IndexDraft::where(const Line& line) const {
  IndexLine read;
  std::memcpy(&read, strings().data() + line.text_at, sizeof read);
  return strings().substr(line.text_at + sizeof read + read.text + read.language, read.where);
}

}  // namespace penstock::runtime
