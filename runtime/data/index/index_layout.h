#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/data/index/lengths.h"
#include "runtime/data/index/stream_hash.h"

namespace penstock::runtime {

/// The layout of an index file, in this order:
/// - an array of each of the utterances' lengths (PackedLength), first samples (int64, -1 for whole
///   recordings), offsets of their lines among the strings (uint64), and recordings (uint64);
/// - the recordings (IndexedRecording);
/// - the strings;
/// - padding to 8 bytes, then this trailer.
///
/// A line among the strings is an IndexLine, followed by its text, its language and its place in
/// the manifest. A path is its size (uint64), followed by its characters. The strings end with a
/// packed tail (base/packing.h): the sources, then the faults.
struct IndexTrailer {
  char magic[24] = "penstock audio index 3\n";
  std::int64_t made = 0;
  std::uint64_t utterances = 0, recordings = 0;
  std::uint64_t strings = 0, tail = 0;  // bytes; the tail is the last part of the strings
  std::uint64_t content = 0;            // XXH3 of everything before the trailer
  std::uint64_t check = 0;              // XXH3 of this struct's earlier members
};

[[nodiscard]] inline std::uint64_t check_of(const IndexTrailer& trailer) {
  return hash_of({reinterpret_cast<const char*>(&trailer), offsetof(IndexTrailer, check)});
}

/// Returns true if a length is plausible. A recording of more than 115 days is an error.
[[nodiscard]] inline bool is_likely(const PackedLength& packed) {
  constexpr std::int64_t kMaxSeconds = 10'000'000;
  const AudioLength length = packed.unpacked();
  return length.rate > 0 && length.samples <= kMaxSeconds * length.rate;
}

struct IndexLine {
  std::uint64_t text = 0, language = 0, where = 0;  // sizes in bytes
  double duration = 0;                              // NaN: none
};

}  // namespace penstock::runtime
