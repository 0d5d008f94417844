#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "runtime/data/index/file_stamp.h"
#include "runtime/data/index/lengths.h"

namespace penstock::runtime {

/// A recording in an index.
struct IndexedRecording {
  std::uint64_t path_hash = 0;  // XXH3 of its path or TarMember, as key_of() returns it
  std::uint64_t path_at = 0;    // offset among the index's strings
  FileStamp stamp;
  PackedLength length;  // unknown: the recording can't be used
};

/// A line of a manifest that can't be used.
struct IndexFault {
  std::string where, what;  // as in Fault
  /// The recording at fault, or whose length contradicts the line; -1: the line itself.
  std::int64_t recording = -1;
};

/// The usable utterances of a manifest, in a mapped file that copies share. IndexTrailer documents
/// its layout, in the machine's byte order.
///
/// The file may come from anyone, with a valid digest. So each member that follows an offset, a
/// count or a length in it checks that first, and throws CheckpointError, which names the file.
class UtteranceIndex {
 public:
  /// Opens an index. Returns nothing if the file does not exist, is truncated or of another
  /// version. The file is in use, as by open_in_use(), as long as the index lives.
  [[nodiscard]] static std::optional<UtteranceIndex> open(const std::filesystem::path& file);
  [[nodiscard]] static std::optional<UtteranceIndex> of(MappedFile file);

  /// Returns true if every byte is as it was written. Reads the whole file.
  bool intact() const;
  /// Describes a contradiction within the file, such as a text that ends after the strings; "" if
  /// there is none. Checks everything.
  [[nodiscard]] std::string contradiction() const;
  /// Returns the XXH3 of the contents. Equal indexes have equal ids.
  std::uint64_t id() const;
  /// Returns the time at which its sources were examined, for unchanged().
  std::int64_t made() const;

  std::size_t size() const;
  AudioLength length(std::size_t utterance) const;
  /// Returns the sample at which a segment begins; nothing for a whole recording.
  std::optional<std::int64_t> first(std::size_t utterance) const;
  /// Returns the duration that the manifest states.
  std::optional<double> duration(std::size_t utterance) const;
  std::string_view text(std::size_t utterance) const;
  /// Returns the language that the manifest names; "": none.
  std::string_view language(std::size_t utterance) const;
  std::string_view where(std::size_t utterance) const;  // "train.jsonl:17"
  /// Returns the path of an utterance's recording, in the form of key_of().
  std::string_view path(std::size_t utterance) const;
  /// Returns the lengths of all utterances but those left out.
  Lengths lengths(std::shared_ptr<const LeftOut> left_out) const;

  std::span<const IndexedRecording> recordings() const;
  std::string_view path(const IndexedRecording& recording) const;
  std::vector<IndexFault> faults() const;
  std::vector<IndexSource> sources() const;

  std::string_view bytes() const;

 private:
  struct Parts;
  static std::optional<UtteranceIndex> divided(std::shared_ptr<Parts> parts);
  void check_utterances() const;
  void check_recordings() const;
  explicit UtteranceIndex(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const Parts> parts_;
};

/// Returns the folder from which a manifest's paths start: its parent, or itself if it is a folder.
[[nodiscard]] std::filesystem::path folder_of(const std::filesystem::path& manifest);

/// Returns a path as indexes store it: relative to `folder` if it lies there, so that both can be
/// moved together, else absolute.
[[nodiscard]] std::string key_of(const std::filesystem::path& path,
                                 const std::filesystem::path& folder);

}  // namespace penstock::runtime
