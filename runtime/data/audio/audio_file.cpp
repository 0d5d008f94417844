#include "runtime/data/audio/audio_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "base/error.h"
#include "base/quantities.h"

// A recording that lost its end, by an interrupted copy for example, often still decodes, as a
// shorter one. missing_end() finds such files by what their headers promise. It knows three
// containers, and passes all others:
//
//   WAV      "RIFF" size "WAVE", then chunks: name (4), size (4), bytes, padded to an even number
//   SPHERE   1024 bytes of text with the number of samples, then the samples
//   Ogg      pages, of which the last one is marked as such

namespace penstock::runtime {
namespace {

FileHandle opened(const std::filesystem::path& file) try {
  return {file, O_RDONLY};
} catch (const FileError& error) {
  throw DataError(error.missing() ? file.string() + ": no such file" : error.what());
}

std::uint32_t little_endian_32(std::string_view bytes) {
  std::uint32_t value = 0;
  for (int i = 3; i >= 0; --i)
    value = value << 8 | static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]);
  return value;
}

std::string short_by(std::int64_t promised, std::int64_t held) {
  if (promised <= held) return {};
  return fmt::format("its header promises {} of audio, but the file holds {}",
                     counted(promised, "byte"), std::max<std::int64_t>(held, 0));
}

std::string riff_end(const FileRange& file) {
  constexpr std::int64_t kChunkHeader = 8;
  for (std::int64_t at = 12; at + kChunkHeader <= file.size();) {
    const std::string chunk = file.read(at, kChunkHeader);
    if (chunk.size() < kChunkHeader) break;
    const std::uint32_t bytes = little_endian_32(std::string_view(chunk).substr(4));
    if (chunk.starts_with("data")) {
      if (bytes == 0 || bytes == UINT32_MAX) return {};
      return short_by(bytes, file.size() - at - kChunkHeader);
    }
    at += kChunkHeader + bytes + bytes % 2;
  }
  return "it ends before its data chunk";
}

/// Returns the integer after `name` in a SPHERE header ("sample_count -i 16000"), or `otherwise`.
std::int64_t sphere_field(const std::string& header, const std::string& name,
                          std::int64_t otherwise) {
  const std::string key = fmt::format("\n{} -i ", name);
  const std::size_t at = header.find(key);
  return at == std::string::npos ? otherwise
                                 : std::strtoll(header.c_str() + at + key.size(), nullptr, 10);
}

/// Returns the product of numbers that a header states, or the largest number if it is larger.
std::int64_t bounded_product(std::initializer_list<std::int64_t> numbers) {
  std::int64_t product = 1;
  for (const std::int64_t number : numbers)
    if (__builtin_mul_overflow(product, number, &product)) return INT64_MAX;
  return product;
}

/// The header does not tell how many bytes samples take that "shorten" has compressed.
std::string sphere_end(const FileRange& file) {
  constexpr std::int64_t kHeader = 1024;
  const std::string header = file.read(0, kHeader);
  if (header.find("shorten") != std::string::npos) return {};
  return short_by(bounded_product({sphere_field(header, "sample_count", 0),
                                   sphere_field(header, "channel_count", 1),
                                   sphere_field(header, "sample_n_bytes", 2)}),
                  file.size() - kHeader);
}

// An Ogg page is a header of 27 bytes, a table of up to 255 segment sizes, and up to 255 segments
// of up to 255 bytes. The last page carries the flag that ends the stream.
std::string ogg_end(const FileRange& file) {
  constexpr std::int64_t kLargestPage = 27 + 255 + 255 * 255;
  constexpr std::size_t kPageHeader = 27;
  const std::string tail =
      file.read(std::max<std::int64_t>(0, file.size() - kLargestPage), kLargestPage);
  const std::size_t page = tail.rfind("OggS");
  if (page == std::string::npos || page + kPageHeader > tail.size())
    return "its last Ogg page is cut";
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(tail[page + at]); };
  const std::size_t segments = byte(26);
  std::size_t bytes = kPageHeader + segments;
  for (std::size_t i = 0; i < segments && page + kPageHeader + i < tail.size(); ++i)
    bytes += byte(kPageHeader + i);
  if (page + bytes > tail.size()) return "its last Ogg page is cut";
  constexpr unsigned kEndOfStream = 4;
  return (byte(5) & kEndOfStream) != 0 ? "" : "its last Ogg page does not end the stream";
}

}  // namespace

FileRange::FileRange(const std::filesystem::path& file) : file_(opened(file)) {
  struct stat status = {};
  if (::fstat(file_.descriptor(), &status) != 0 || !S_ISREG(status.st_mode))
    throw DataError(file.string() + (S_ISDIR(status.st_mode) ? ": a folder, not a file"
                                                             : ": not a file that can be read"));
  size_ = status.st_size;
}

void FileRange::narrow(std::int64_t first, std::int64_t bytes) {
  first_ += first;
  size_ = std::clamp<std::int64_t>(size_ - first, 0, bytes);
}

// pread() leaves the file's position alone, so threads can share the file.
std::int64_t FileRange::read(std::int64_t at, std::span<char> bytes) const noexcept {
  const std::int64_t wanted = std::clamp<std::int64_t>(size_ - at, 0, std::ssize(bytes));
  std::int64_t done = 0;
  while (done < wanted) {
    const ssize_t count = ::pread(file_.descriptor(), bytes.data() + done,
                                  static_cast<std::size_t>(wanted - done), first_ + at + done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += count;
  }
  return done;
}

std::string FileRange::read(std::int64_t at, std::int64_t bytes) const {
  std::string text(static_cast<std::size_t>(std::clamp<std::int64_t>(size_ - at, 0, bytes)), '\0');
  text.resize(static_cast<std::size_t>(read(at, std::span(text))));
  return text;
}

std::string missing_end(const FileRange& file) {
  const std::string magic = file.read(0, 12);
  if (magic.starts_with("RIFF") && magic.ends_with("WAVE")) return riff_end(file);
  if (magic.starts_with("NIST_1A")) return sphere_end(file);
  if (magic.starts_with("OggS")) return ogg_end(file);
  return {};
}

}  // namespace penstock::runtime
