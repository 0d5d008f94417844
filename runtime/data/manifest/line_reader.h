#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace penstock::runtime {

/// Reads the lines of a file, which may be compressed by gzip. Memory: one line, and 256 KiB.
class LineReader {
 public:
  /// Throws DataError if the file can't be opened.
  explicit LineReader(const std::filesystem::path& file);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  /// Stores the next line without its line feed. Returns false at the end. Throws DataError if the
  /// file can't be read to its end, is a damaged or cut gzip, or holds a compressed line of more
  /// than 64 MiB.
  [[nodiscard]] bool next(std::string& line);

  /// Returns the first bytes of the file, decompressed, before next() is called. Throws as next()
  /// does.
  [[nodiscard]] std::string_view head();

 private:
  class Stream;

  bool fill();

  std::unique_ptr<Stream> stream_;
  std::string block_;
  std::size_t at_ = 0;
};

}  // namespace penstock::runtime
