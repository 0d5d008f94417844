#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/file_handle.h"
#include "runtime/data/file_stamp.h"
#include "runtime/data/lengths.h"

namespace penstock::runtime {

/// What was found of a recording.
struct KnownLength {
  std::uint64_t path_hash = 0;  // as IndexedRecording
  FileStamp stamp;
  PackedLength length;
};

/// What earlier indexings have found, by recording.
class KnownLengths {
 public:
  void add(const KnownLength& known) { all_.push_back(known); }
  /// Room for so many more.
  void reserve(std::size_t more) { all_.reserve(all_.size() + more); }
  /// Behind the last add().
  void sort();
  bool empty() const { return all_.empty(); }
  /// Of the time when the recording changed last.
  const KnownLength* find(std::uint64_t path_hash) const;

 private:
  std::vector<KnownLength> all_;
};

/// Keeps what an indexing finds while it goes on, so that one that is killed need not begin anew.
class IndexJournal {
 public:
  /// Goes on with what the file holds. FileError.
  explicit IndexJournal(const std::filesystem::path& file);
  /// FileError where the disk is full, say.
  void append(const std::vector<KnownLength>& found);

 private:
  FileHandle file_;
};

/// Adds what a journal holds. A last entry that is cut, or one that is damaged, is passed over.
void read_journal(const std::filesystem::path& file, KnownLengths& known);

}  // namespace penstock::runtime
