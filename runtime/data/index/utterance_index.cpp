#include "runtime/data/index/utterance_index.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "base/file_handle.h"
#include "base/packing.h"
#include "runtime/data/index/cache_folder.h"
#include "runtime/data/index/index_layout.h"
#include "runtime/data/index/stream_hash.h"

// An index is used where it lies, in a mapped file. Opening it reads the trailer, whose counts give
// the places of all parts by addition; they are accepted only if they add up to the file's size.
// Offsets and lengths within the strings are checked when they are followed, not before: checking
// all of them would read the whole file. intact() and contradiction() do read it, and give the
// pages back as they go, so that they don't fill the memory.

namespace penstock::runtime {
namespace {

/// Splits `count` items off the front. The caller has checked that they are there, and parts of
/// 8-byte items keep them aligned.
template <class Item>
std::span<const Item> take(std::string_view& bytes, std::uint64_t count) {
  const auto* const items = reinterpret_cast<const Item*>(bytes.data());
  bytes.remove_prefix(count * sizeof(Item));
  return {items, count};
}

std::uint64_t padded(std::uint64_t bytes) { return (bytes + 7) / 8 * 8; }

std::vector<IndexSource> unpack_sources(Unpacker& tail) {
  std::vector<IndexSource> sources;
  for (std::int64_t left = tail.number(); left > 0; --left) {
    IndexSource& source = sources.emplace_back();
    source.path = tail.text();
    source.stamp.bytes = tail.number();
    source.stamp.changed = tail.number();
    source.digest = static_cast<std::uint64_t>(tail.number());
  }
  return sources;
}

}  // namespace

/// The mapped file and its parts. Nothing is copied: arrays and strings refer to the mapping. Every
/// access that follows a number in the file checks it first.
struct UtteranceIndex::Parts {
  MappedFile file;
  std::filesystem::path name = {};
  std::optional<FileHandle> in_use = {};
  IndexTrailer trailer = {};
  std::span<const PackedLength> lengths = {};
  std::span<const std::int64_t> firsts = {};
  std::span<const std::uint64_t> lines = {}, of_recordings = {};
  std::span<const IndexedRecording> recordings = {};
  std::string_view strings = {};

  /// Divides the file into its parts. Returns false if its size contradicts the trailer.
  bool divide() {
    std::string_view rest = file.bytes();
    if (rest.size() < sizeof trailer) return false;
    std::memcpy(&trailer, rest.data() + rest.size() - sizeof trailer, sizeof trailer);
    rest.remove_suffix(sizeof trailer);
    const std::uint64_t n = trailer.utterances, r = trailer.recordings;
    const bool known =
        std::memcmp(trailer.magic, IndexTrailer().magic, sizeof trailer.magic) == 0 &&
        trailer.check == check_of(trailer);
    // No part alone exceeds the file, so their sum does not overflow.
    const bool fits = n <= rest.size() / 32 && r <= rest.size() / sizeof(IndexedRecording) &&
                      trailer.strings <= rest.size() && trailer.tail <= trailer.strings;
    if (!known || !fits ||
        rest.size() != padded(n * 32 + r * sizeof(IndexedRecording) + trailer.strings))
      return false;
    lengths = take<PackedLength>(rest, n);
    firsts = take<std::int64_t>(rest, n);
    lines = take<std::uint64_t>(rest, n);
    of_recordings = take<std::uint64_t>(rest, n);
    recordings = take<IndexedRecording>(rest, r);
    strings = rest.substr(0, trailer.strings);
    return true;
  }

  /// Throws CheckpointError. `what` is, for instance, "the text of utterance 17".
  [[noreturn]] void refuse(const std::string& what) const {
    throw CheckpointError(
        fmt::format("{}: damaged: {} lies outside the file or contradicts it: remove the file, and "
                    "it is made anew",
                    name.empty() ? "an index that was sent" : name.string(), what));
  }
  void require(bool holds, const char* what, std::uint64_t number) const {
    if (!holds) refuse(fmt::format("{} {}", what, number));
  }
  bool holds(std::uint64_t at, std::uint64_t size) const {
    return at <= strings.size() && size <= strings.size() - at;
  }

  /// Returns an utterance's IndexLine, which may be unaligned, after checking that its strings fit.
  IndexLine line(std::size_t utterance) const {
    const std::uint64_t at = lines[utterance];
    IndexLine line;
    require(holds(at, sizeof line), "the line of utterance", utterance);
    std::memcpy(&line, strings.data() + at, sizeof line);
    std::uint64_t next = at + sizeof line;
    bool fits = true;
    for (const std::uint64_t size : {line.text, line.language, line.where}) {
      fits = fits && holds(next, size);
      next += size;
    }
    require(fits, "the text of utterance", utterance);
    return line;
  }
  std::string_view path_at(std::uint64_t at) const {
    std::uint64_t size = 0;
    require(holds(at, sizeof size), "a path at", at);
    std::memcpy(&size, strings.data() + at, sizeof size);
    require(holds(at + sizeof size, size), "a path at", at);
    return strings.substr(at + sizeof size, size);
  }

  /// Returns the result of `read` for the packed tail.
  template <class Read>
  auto from_tail(Read read) const try {
    Unpacker tail(std::string(strings.substr(strings.size() - trailer.tail)));
    return read(tail);
  } catch (const std::out_of_range&) {
    refuse("the list of its sources and faults");
  }
};

std::optional<UtteranceIndex> UtteranceIndex::open(const std::filesystem::path& file) try {
  auto handle = open_in_use(file);
  if (!handle) return std::nullopt;
  MappedFile mapped(handle->descriptor(), file);
  return divided(std::make_shared<Parts>(std::move(mapped), file, std::move(handle)));
} catch (const FileError&) {
  return std::nullopt;
}

std::optional<UtteranceIndex> UtteranceIndex::of(MappedFile file) {
  return divided(std::make_shared<Parts>(std::move(file)));
}

std::optional<UtteranceIndex> UtteranceIndex::divided(std::shared_ptr<Parts> parts) {
  if (!parts->divide()) return std::nullopt;
  return UtteranceIndex(std::move(parts));
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

// line() and path() throw if their strings do not fit. Then the utterance must lie within its
// recording.
void UtteranceIndex::check_utterances() const {
  constexpr std::size_t kAtATime = 1 << 20;  // utterances whose strings are in memory at a time
  const Parts& parts = *parts_;
  for (std::size_t u = 0; u < size(); ++u) {
    (void)parts.line(u);
    (void)path(u);
    const AudioLength part = length(u);
    const AudioLength whole = parts.recordings[parts.of_recordings[u]].length.unpacked();
    const std::int64_t first = parts.firsts[u];
    const bool fits = first < 0 ? part == whole : first <= whole.samples - part.samples;
    parts.require(fits && part.rate == whole.rate && is_likely(parts.lengths[u]),
                  "the segment of utterance", u);
    if (u % kAtATime == 0) parts.file.forget(bytes());
  }
}

void UtteranceIndex::check_recordings() const {
  for (std::size_t r = 0; r < recordings().size(); ++r) {
    const IndexedRecording& recording = recordings()[r];
    parts_->require(hash_of(path(recording)) == recording.path_hash, "the path of recording", r);
    parts_->require(!recording.length.known() || is_likely(recording.length),
                    "the length of recording", r);
  }
  for (const IndexFault& fault : faults())
    if (fault.recording < -1 || fault.recording >= std::ssize(recordings()))
      parts_->refuse(fmt::format("the recording of {}", fault.where));
}

std::string UtteranceIndex::contradiction() const try {
  check_recordings();
  check_utterances();
  (void)sources();
  return {};
} catch (const CheckpointError& error) {
  return error.what();
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
  const double duration = parts_->line(utterance).duration;
  return std::isnan(duration) ? std::nullopt : std::optional(duration);
}

std::string_view UtteranceIndex::text(std::size_t utterance) const {
  const IndexLine line = parts_->line(utterance);
  return parts_->strings.substr(parts_->lines[utterance] + sizeof line, line.text);
}

std::string_view UtteranceIndex::language(std::size_t utterance) const {
  const IndexLine line = parts_->line(utterance);
  return parts_->strings.substr(parts_->lines[utterance] + sizeof line + line.text, line.language);
}

std::string_view UtteranceIndex::where(std::size_t utterance) const {
  const IndexLine line = parts_->line(utterance);
  return parts_->strings.substr(parts_->lines[utterance] + sizeof line + line.text + line.language,
                                line.where);
}

std::string_view UtteranceIndex::path(std::size_t utterance) const {
  const std::uint64_t recording = parts_->of_recordings[utterance];
  parts_->require(recording < parts_->recordings.size(), "the recording of utterance", utterance);
  return path(parts_->recordings[recording]);
}

Lengths UtteranceIndex::lengths(std::shared_ptr<const LeftOut> left_out) const {
  return {parts_, parts_->lengths, std::move(left_out)};
}

std::span<const IndexedRecording> UtteranceIndex::recordings() const { return parts_->recordings; }

std::string_view UtteranceIndex::path(const IndexedRecording& recording) const {
  return parts_->path_at(recording.path_at);
}

std::vector<IndexSource> UtteranceIndex::sources() const {
  return parts_->from_tail(unpack_sources);
}

std::vector<IndexFault> UtteranceIndex::faults() const {
  return parts_->from_tail([](Unpacker& tail) {
    (void)unpack_sources(tail);
    std::vector<IndexFault> faults;
    while (!tail.empty()) {
      IndexFault& fault = faults.emplace_back();
      fault.where = tail.text();
      fault.what = tail.text();
      fault.recording = tail.number();
    }
    return faults;
  });
}

std::string_view UtteranceIndex::bytes() const { return parts_->file.bytes(); }

std::filesystem::path folder_of(const std::filesystem::path& manifest) {
  std::error_code error;
  return std::filesystem::is_directory(manifest, error) ? manifest : manifest.parent_path();
}

// For the folder /data: /data/a/b.wav becomes a/b.wav, /other/b.wav stays, and /database/b.wav
// stays, too, since a name must end where the folder's does. The texts are compared without the
// file system, because an index may have millions of paths.
std::string key_of(const std::filesystem::path& path, const std::filesystem::path& folder) {
  const std::string &whole = path.native(), &start = folder.native();
  if (start.empty() || path == folder) return path == folder ? "" : whole;
  const bool inside = whole.starts_with(start) && whole.size() > start.size() &&
                      (start.ends_with('/') || whole[start.size()] == '/');
  if (!inside) return std::filesystem::absolute(path).string();
  return whole.substr(start.size() + (start.ends_with('/') ? 0 : 1));
}

}  // namespace penstock::runtime
