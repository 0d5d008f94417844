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
#include "runtime/data/file_stamp.h"
#include "runtime/data/lengths.h"

namespace penstock::runtime {

/// A recording as an index has it.
struct IndexedRecording {
  std::uint64_t path_hash = 0;  // XXH3 of its path, or TarMember, as key_of() has it
  std::uint64_t path_at = 0;    // among the index's strings
  FileStamp stamp;
  PackedLength length;  // not known: it can't be used
};

/// A line of a manifest that can't be used.
struct IndexFault {
  std::string where, what;      // as Fault
  std::int64_t recording = -1;  // that is at fault, or lasts otherwise; -1: the line itself
};

/// What a manifest's usable utterances are: a mapped file, which copies share. Its layout, in the
/// machine's byte order: the arrays of IndexArrays, strings, and a trailer.
///
/// Anybody may have written the file, with a right digest. So each member that follows an offset,
/// a count or a length of it checks that first: CheckpointError with the file's name.
class UtteranceIndex {
 public:
  /// Nothing if there is no file, or one that is cut or of another version. It is in use, as
  /// open_in_use() has it, as long as the index lives.
  [[nodiscard]] static std::optional<UtteranceIndex> open(const std::filesystem::path& file);
  [[nodiscard]] static std::optional<UtteranceIndex> of(MappedFile file);

  /// Whether every byte is as it was written. Reads all of them.
  bool intact() const;
  /// What of the file contradicts the rest, such as a text that ends behind the strings; "" if
  /// nothing does. Looks at everything.
  [[nodiscard]] std::string contradiction() const;
  /// XXH3 of everything in it: equal indexes have equal ids.
  std::uint64_t id() const;
  /// When its sources were looked at, for unchanged().
  std::int64_t made() const;

  std::size_t size() const;
  AudioLength length(std::size_t utterance) const;
  /// The sample at which a segment begins.
  std::optional<std::int64_t> first(std::size_t utterance) const;
  /// As the manifest has it.
  std::optional<double> duration(std::size_t utterance) const;
  std::string_view text(std::size_t utterance) const;
  std::string_view where(std::size_t utterance) const;  // "train.jsonl:17"
  /// As key_of() has it.
  std::string_view path(std::size_t utterance) const;
  /// Of all utterances but those.
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

/// The folder that a manifest's paths start from: the manifest's, or itself.
[[nodiscard]] std::filesystem::path folder_of(const std::filesystem::path& manifest);

/// A path as indexes have it: from `folder`, where it lies there, so that both can move together;
/// else absolute.
[[nodiscard]] std::string key_of(const std::filesystem::path& path,
                                 const std::filesystem::path& folder);

}  // namespace penstock::runtime
