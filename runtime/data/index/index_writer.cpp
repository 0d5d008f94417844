#include "runtime/data/index/index_writer.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <optional>

#include "base/error.h"
#include "base/packing.h"
#include "runtime/data/audio/segment.h"
#include "runtime/data/index/index_layout.h"
#include "runtime/data/index/utterance_index.h"
#include "runtime/data/manifest/tar_member.h"

// The order of an index's parts is documented at IndexTrailer. The trailer comes last, because only
// then are counts and hash known, and the output is never rewound. Its hash covers everything
// before it but not the time in the trailer, so the time at which an index is made does not change
// its id.

namespace penstock::runtime {
namespace {

/// The utterance that a line and its recording's length yield.
struct DraftUtterance {
  AudioLength length = {};
  std::int64_t first = -1;  // sample at which a segment begins; -1: whole recording
  std::string fault = {};   // empty if it can be used
};

DraftUtterance whole_recording(const IndexDraft& draft, const IndexDraft::Line& line,
                               const AudioLength& recording) {
  const double duration = draft.duration(line);
  const double off = std::isnan(duration) ? 0 : std::abs(duration - recording.seconds());
  if (off <= kDurationTolerance) return {recording};
  return {.fault = fmt::format("its duration is {:g} s, but {} lasts {:.6g} s: correct it, or, if "
                               "a segment is meant, give its \"offset\" as well",
                               duration, draft.recording_name(line), recording.seconds())};
}

DraftUtterance segment_of(const IndexDraft& draft, const IndexDraft::Line& line,
                          const AudioLength& recording) try {
  const double duration = draft.duration(line);
  const auto lasting = std::isnan(duration) ? std::nullopt : std::optional(duration);
  const SampleRange range = samples_of({line.offset, lasting}, recording);
  return {{range.samples, recording.rate}, range.first};
} catch (const DataError& error) {
  return {.fault = fmt::format("{}: {}", draft.recording_name(line), error.what())};
}

/// Buffers output into pieces of 1 MiB and hashes it.
class HashedOutput {
 public:
  explicit HashedOutput(const std::function<void(std::string_view)>& write) : write_(write) {}

  void add(std::string_view bytes) {
    size_ += bytes.size();
    while (!bytes.empty()) {
      const std::string_view piece = bytes.substr(0, kPiece - buffer_.size());
      buffer_ += piece;
      bytes.remove_prefix(piece.size());
      if (buffer_.size() == kPiece) flush();
    }
  }
  template <class Item>
  void add_item(const Item& item) {
    add({reinterpret_cast<const char*>(&item), sizeof item});
  }
  void pad() { add(std::string((8 - size_ % 8) % 8, '\0')); }
  void flush() {
    hash_.add(buffer_);
    write_(buffer_);
    buffer_.clear();
  }
  /// Returns the hash of the flushed bytes.
  std::uint64_t digest() const { return hash_.digest(); }

 private:
  static constexpr std::size_t kPiece = 1 << 20;
  const std::function<void(std::string_view)>& write_;
  StreamHash hash_;
  std::string buffer_;
  std::uint64_t size_ = 0;
};

/// Writes an index in two passes over the draft. The first finds the usable lines, one bit each.
/// The second writes one array after another, so no array of the index is assembled in memory. An
/// utterance is computed again for each array.
class IndexWriter {
 public:
  IndexWriter(const IndexDraft& draft, const DraftRecordings& recordings,
              const std::function<void(std::string_view)>& write)
      : draft_(draft), recordings_(recordings), output_(write), usable_(draft.lines().size()) {
    trailer_.made = draft.made();
    trailer_.recordings = draft.recordings();
  }

  void write() {
    const std::string tail = weigh();
    for_each([&](std::size_t i) { output_.add_item(PackedLength(utterance(i).length)); });
    for_each([&](std::size_t i) { output_.add_item(utterance(i).first); });
    for_each([&](std::size_t i) { output_.add_item(draft_.lines()[i].text_at); });
    for_each([&](std::size_t i) { output_.add_item(std::uint64_t{draft_.recording_of(i)}); });
    for (std::size_t r = 0; r < draft_.recordings(); ++r) {
      const IndexDraft::Line& line = draft_.line_of(r);
      const DraftRecordings::Recording& known = recordings_.all[r];
      output_.add_item(IndexedRecording{line.path_hash, line.path_at, known.stamp, known.length});
    }
    output_.add(draft_.strings());
    output_.add(tail);
    trailer_.strings = draft_.strings().size() + tail.size();
    trailer_.tail = tail.size();
    output_.pad();
    output_.flush();
    trailer_.content = output_.digest();
    trailer_.check = check_of(trailer_);
    output_.add_item(trailer_);
    output_.flush();
  }

 private:
  DraftUtterance utterance(std::size_t i) const {
    const std::size_t r = draft_.recording_of(i);
    const IndexDraft::Line& line = draft_.lines()[i];
    if (const auto fault = recordings_.faults.find(r); fault != recordings_.faults.end())
      return {.fault = fault->second};
    const AudioLength length = recordings_.all[r].length.unpacked();
    return std::isnan(line.offset) ? whole_recording(draft_, line, length)
                                   : segment_of(draft_, line, length);
  }

  /// Finds the lines that can be used and counts them. Returns the tail of the strings.
  std::string weigh() {
    Packer faults;
    for (const Fault& fault : draft_.faults().all()) add(fault, -1, faults);
    for (std::size_t i = 0; i < usable_.size(); ++i) {
      const std::string fault = utterance(i).fault;
      usable_[i] = fault.empty();
      trailer_.utterances += fault.empty() ? 1 : 0;
      if (!fault.empty())
        add({std::string(draft_.where(draft_.lines()[i])), fault},
            static_cast<std::int64_t>(draft_.recording_of(i)), faults);
    }
    Packer sources;
    sources.add(std::ssize(draft_.sources()));
    for (const IndexSource& source : draft_.sources()) {
      sources.add(source.path);
      sources.add(source.stamp.bytes);
      sources.add(source.stamp.changed);
      sources.add(static_cast<std::int64_t>(source.digest));
    }
    return sources.bytes() + faults.bytes();
  }

  static void add(const Fault& fault, std::int64_t recording, Packer& faults) {
    faults.add(fault.where);
    faults.add(fault.what);
    faults.add(recording);
  }

  template <class Body>
  void for_each(Body body) const {
    for (std::size_t i = 0; i < usable_.size(); ++i)
      if (usable_[i]) body(i);
  }

  const IndexDraft& draft_;
  const DraftRecordings& recordings_;
  HashedOutput output_;
  std::vector<bool> usable_;
  IndexTrailer trailer_;
};

}  // namespace

void write_index(const IndexDraft& draft, const DraftRecordings& recordings,
                 const std::function<void(std::string_view)>& write) {
  IndexWriter(draft, recordings, write).write();
}

}  // namespace penstock::runtime
