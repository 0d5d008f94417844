#pragma once

#include <cstdint>
#include <string>

namespace penstock::test {

/// Holds the fields of a member's header.
struct TarFields {
  std::string name;
  std::int64_t bytes = 0;
  char type = '0';
  std::string target = {};  // of a link
  bool large_size = false;  // in base 256
  std::string prefix = {};  // of the name, ustar's
};

/// A header of 512 bytes with its sum.
std::string tar_header(const TarFields& fields);

/// A pax record, which tells its own length.
std::string pax_record(const std::string& key, const std::string& value);

/// Bytes, and zeros up to the next block.
std::string in_blocks(const std::string& bytes);

/// Makes tars of ustar's kind in memory.
class TarWriter {
 public:
  TarWriter& add(const std::string& name, const std::string& bytes, char type = '0') {
    tar_ += tar_header({.name = name, .bytes = std::ssize(bytes), .type = type}) + in_blocks(bytes);
    return *this;
  }
  TarWriter& add_raw(const std::string& bytes) {
    tar_ += bytes;
    return *this;
  }
  /// Returns the archive of what was added; `closed`: with the zeros of its end.
  std::string bytes(bool closed = true) const {
    return tar_ + std::string(closed ? 1024 : 0, '\0');
  }

 private:
  std::string tar_;
};

}  // namespace penstock::test
