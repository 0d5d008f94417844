#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/file_handle.h"
#include "runtime/data/index/file_stamp.h"
#include "runtime/data/index/lengths.h"

namespace penstock::runtime {

/// The measured length of a recording.
struct KnownLength {
  std::uint64_t path_hash = 0;  // as in IndexedRecording
  FileStamp stamp;
  PackedLength length;
};

/// Lengths that earlier indexing found, by recording.
class KnownLengths {
 public:
  void add(const KnownLength& known) { all_.push_back(known); }
  /// Reserves memory for `more` further entries.
  void reserve(std::size_t more) { all_.reserve(all_.size() + more); }
  /// Sorts the entries. Call it after the last add() and before find().
  void sort();
  bool empty() const { return all_.empty(); }
  /// Returns the entry with the latest time of change; null if there is none.
  const KnownLength* find(std::uint64_t path_hash) const;

 private:
  std::vector<KnownLength> all_;
};

/// Saves the results of indexing as it proceeds, so that indexing resumes after a run was killed.
class IndexJournal {
 public:
  /// Opens the journal and appends to what it holds. Throws FileError.
  explicit IndexJournal(const std::filesystem::path& file);
  /// Appends results. Throws FileError, for instance if the disk is full.
  void append(const std::vector<KnownLength>& found);

 private:
  FileHandle file_;
};

/// Adds the entries of a journal to `known`. Skips a truncated last entry and damaged ones.
void read_journal(const std::filesystem::path& file, KnownLengths& known);

}  // namespace penstock::runtime
