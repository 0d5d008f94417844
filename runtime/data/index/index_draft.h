#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "runtime/data/index/file_stamp.h"
#include "runtime/data/manifest/faults.h"

namespace penstock::runtime {

class RemoteFiles;

/// A manifest's lines before they become an index. They lie in scratch files; memory holds eight
/// bytes per line, and 16 more during construction.
class IndexDraft {
 public:
  struct Line {
    std::uint64_t path_hash = 0, path_at = 0;  // as in IndexedRecording
    std::uint64_t text_at = 0;                 // place of its IndexLine among the strings
    double offset = 0;  // seconds at which a segment begins; NaN: whole recording
  };

  /// Throws DataError like read_manifest(), or if there are 2^32 lines or more.
  /// `files` opens what lies on servers. Without `texts`, lines need no text.
  explicit IndexDraft(const std::filesystem::path& manifest, RemoteFiles* files = nullptr,
                      bool texts = true);

  const std::filesystem::path& folder() const { return folder_; }  // base of relative paths
  std::int64_t made() const { return made_; }
  const std::vector<IndexSource>& sources() const { return sources_; }
  const Faults& faults() const { return faults_; }  // faults of lines that lines() lacks

  std::span<const Line> lines() const { return lines_; }
  std::string_view strings() const { return strings_.bytes(); }
  std::string_view path(const Line& line) const;
  /// Returns the name of a line's recording, for messages.
  [[nodiscard]] std::string recording_name(const Line& line) const;
  double duration(const Line& line) const;  // seconds; NaN: unknown
  std::string_view where(const Line& line) const;

  /// Number of distinct recordings. A recording counts once, however many lines name it.
  std::size_t recordings() const { return first_lines_.size(); }
  std::size_t recording_of(std::size_t line) const { return recordings_of_[line]; }
  const Line& line_of(std::size_t recording) const { return lines_[first_lines_[recording]]; }

 private:
  void read(const std::filesystem::path& manifest, RemoteFiles* files, bool texts);
  void number_recordings();

  std::filesystem::path folder_;
  std::int64_t made_ = 0;
  std::vector<IndexSource> sources_;
  Faults faults_;
  MappedFile file_, strings_;
  std::span<const Line> lines_;  // mapped from file_
  std::vector<std::uint32_t> recordings_of_, first_lines_;
};

}  // namespace penstock::runtime
