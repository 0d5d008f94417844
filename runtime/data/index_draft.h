#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "runtime/data/faults.h"
#include "runtime/data/file_stamp.h"

namespace penstock::runtime {

/// A manifest's lines on their way into an index. Outside memory, but for eight bytes a line, and
/// 16 more while it is made.
class IndexDraft {
 public:
  struct Line {
    std::uint64_t path_hash = 0, path_at = 0;  // as IndexedRecording has them
    std::uint64_t text_at = 0;                 // of an IndexLine, among the strings
    double offset = 0;                         // seconds, of a segment; NaN: none
  };

  /// DataError as read_manifest(), or if there are 2^32 lines.
  explicit IndexDraft(const std::filesystem::path& manifest);

  const std::filesystem::path& folder() const { return folder_; }  // that paths start from
  std::int64_t made() const { return made_; }
  const std::vector<IndexSource>& sources() const { return sources_; }
  const Faults& faults() const { return faults_; }  // of lines that are not among those below

  std::span<const Line> lines() const { return lines_; }
  std::string_view strings() const { return strings_.bytes(); }
  std::string_view path(const Line& line) const;
  double duration(const Line& line) const;  // seconds; NaN: none
  std::string_view where(const Line& line) const;

  /// A recording counts once, however many lines name it.
  std::size_t recordings() const { return first_lines_.size(); }
  std::size_t recording_of(std::size_t line) const { return recordings_of_[line]; }
  const Line& line_of(std::size_t recording) const { return lines_[first_lines_[recording]]; }

 private:
  void read(const std::filesystem::path& manifest);
  void number_recordings();

  std::filesystem::path folder_;
  std::int64_t made_ = 0;
  std::vector<IndexSource> sources_;
  Faults faults_;
  MappedFile file_, strings_;
  std::span<const Line> lines_;  // of file_
  std::vector<std::uint32_t> recordings_of_, first_lines_;
};

}  // namespace penstock::runtime
