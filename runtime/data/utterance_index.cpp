#include "runtime/data/utterance_index.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "base/file_handle.h"
#include "base/packing.h"
#include "runtime/data/index_layout.h"
#include "runtime/data/stream_hash.h"

namespace penstock::runtime {
namespace {

/// An IndexLine, which lies anywhere.
IndexLine line_at(std::string_view strings, std::uint64_t at) {
  IndexLine line;
  std::memcpy(&line, strings.data() + at, sizeof line);
  return line;
}

template <class Item>
std::span<const Item> take(std::string_view& bytes, std::uint64_t count) {
  const auto* const items = reinterpret_cast<const Item*>(bytes.data());
  bytes.remove_prefix(count * sizeof(Item));
  return {items, count};
}

std::uint64_t padded(std::uint64_t bytes) { return (bytes + 7) / 8 * 8; }

}  // namespace

struct UtteranceIndex::Parts {
  MappedFile file;
  IndexTrailer trailer;
  std::span<const PackedLength> lengths;
  std::span<const std::int64_t> firsts;
  std::span<const std::uint64_t> lines, of_recordings;
  std::span<const IndexedRecording> recordings;
  std::string_view strings;

  /// Whether the file is as long as its trailer says.
  bool divide() {
    std::string_view rest = file.bytes();
    if (rest.size() < sizeof trailer) return false;
    std::memcpy(&trailer, rest.data() + rest.size() - sizeof trailer, sizeof trailer);
    rest.remove_suffix(sizeof trailer);
    const std::uint64_t n = trailer.utterances, r = trailer.recordings;
    const bool known =
        std::memcmp(trailer.magic, IndexTrailer().magic, sizeof trailer.magic) == 0 &&
        trailer.check == check_of(trailer);
    if (!known || rest.size() != padded(n * 32 + r * sizeof(IndexedRecording) + trailer.strings))
      return false;
    lengths = take<PackedLength>(rest, n);
    firsts = take<std::int64_t>(rest, n);
    lines = take<std::uint64_t>(rest, n);
    of_recordings = take<std::uint64_t>(rest, n);
    recordings = take<IndexedRecording>(rest, r);
    strings = rest.substr(0, trailer.strings);
    return true;
  }

  std::string_view path_at(std::uint64_t at) const {
    std::uint64_t size = 0;
    std::memcpy(&size, strings.data() + at, sizeof size);
    return strings.substr(at + sizeof size, size);
  }
  Unpacker tail() const {
    return Unpacker(std::string(strings.substr(strings.size() - trailer.tail)));
  }
};

std::optional<UtteranceIndex> UtteranceIndex::open(const std::filesystem::path& file) try {
  return of(map_file(file));
} catch (const FileError&) {
  return std::nullopt;
}

std::optional<UtteranceIndex> UtteranceIndex::of(MappedFile file) {
  const auto parts = std::make_shared<Parts>();
  parts->file = std::move(file);
  if (!parts->divide()) return std::nullopt;
  return UtteranceIndex(parts);
}

bool UtteranceIndex::intact() const {
  constexpr std::size_t kBlock = 64 << 20;
  StreamHash hash;
  std::string_view rest = bytes().substr(0, bytes().size() - sizeof(IndexTrailer));
  while (!rest.empty()) {
    const std::string_view block = rest.substr(0, kBlock);
    hash.add(block);
    parts_->file.forget(block);
    rest.remove_prefix(block.size());
  }
  return hash.digest() == id();
}

std::uint64_t UtteranceIndex::id() const { return parts_->trailer.content; }
std::int64_t UtteranceIndex::made() const { return parts_->trailer.made; }
std::size_t UtteranceIndex::size() const { return parts_->lengths.size(); }

AudioLength UtteranceIndex::length(std::size_t utterance) const {
  return parts_->lengths[utterance].unpacked();
}

std::optional<std::int64_t> UtteranceIndex::first(std::size_t utterance) const {
  const std::int64_t first = parts_->firsts[utterance];
  return first < 0 ? std::nullopt : std::optional(first);
}

std::optional<double> UtteranceIndex::duration(std::size_t utterance) const {
  const double duration = line_at(parts_->strings, parts_->lines[utterance]).duration;
  return std::isnan(duration) ? std::nullopt : std::optional(duration);
}

std::string_view UtteranceIndex::text(std::size_t utterance) const {
  const std::uint64_t at = parts_->lines[utterance];
  return parts_->strings.substr(at + sizeof(IndexLine), line_at(parts_->strings, at).text);
}

std::string_view UtteranceIndex::where(std::size_t utterance) const {
  const std::uint64_t at = parts_->lines[utterance];
  const IndexLine line = line_at(parts_->strings, at);
  return parts_->strings.substr(at + sizeof line + line.text, line.where);
}

std::string_view UtteranceIndex::path(std::size_t utterance) const {
  return path(parts_->recordings[parts_->of_recordings[utterance]]);
}

Lengths UtteranceIndex::lengths(std::shared_ptr<const LeftOut> left_out) const {
  return {parts_, parts_->lengths, std::move(left_out)};
}

std::span<const IndexedRecording> UtteranceIndex::recordings() const { return parts_->recordings; }

std::string_view UtteranceIndex::path(const IndexedRecording& recording) const {
  return parts_->path_at(recording.path_at);
}

std::vector<IndexSource> UtteranceIndex::sources() const {
  std::vector<IndexSource> sources;
  Unpacker tail = parts_->tail();
  for (std::int64_t left = tail.number(); left > 0; --left) {
    IndexSource& source = sources.emplace_back();
    source.path = tail.text();
    source.stamp.bytes = tail.number();
    source.stamp.changed = tail.number();
    source.digest = static_cast<std::uint64_t>(tail.number());
  }
  return sources;
}

std::vector<IndexFault> UtteranceIndex::faults() const {
  Unpacker tail = parts_->tail();
  for (std::int64_t left = tail.number(); left > 0; --left) {
    (void)tail.text();
    for (int number = 0; number < 3; ++number) (void)tail.number();
  }
  std::vector<IndexFault> faults;
  while (!tail.empty()) {
    IndexFault& fault = faults.emplace_back();
    fault.where = tail.text();
    fault.what = tail.text();
    fault.recording = tail.number();
  }
  return faults;
}

std::string_view UtteranceIndex::bytes() const { return parts_->file.bytes(); }

std::filesystem::path folder_of(const std::filesystem::path& manifest) {
  std::error_code error;
  return std::filesystem::is_directory(manifest, error) ? manifest : manifest.parent_path();
}

std::string key_of(const std::filesystem::path& path, const std::filesystem::path& folder) {
  const std::string &whole = path.native(), &start = folder.native();
  if (start.empty() || path == folder) return path == folder ? "" : whole;
  const bool inside = whole.starts_with(start) && whole.size() > start.size() &&
                      (start.ends_with('/') || whole[start.size()] == '/');
  if (!inside) return std::filesystem::absolute(path).string();
  return whole.substr(start.size() + (start.ends_with('/') ? 0 : 1));
}

}  // namespace penstock::runtime
