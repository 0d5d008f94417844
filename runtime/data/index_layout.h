#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/data/lengths.h"
#include "runtime/data/stream_hash.h"

namespace penstock::runtime {

/// How an index lies in its file: so many lengths (PackedLength), firsts (int64, -1 of whole
/// recordings), places of lines among the strings (uint64) and recordings (uint64) of utterances;
/// recordings (IndexedRecording); strings; and this, behind padding to 8 bytes.
///
/// A line among the strings is an IndexLine, its text, and where it stands; a path is its size
/// (uint64) and itself. The tail of the strings is packed (base/packing.h): sources, then faults.
struct IndexTrailer {
  char magic[24] = "penstock audio index 2\n";
  std::int64_t made = 0;
  std::uint64_t utterances = 0, recordings = 0;
  std::uint64_t strings = 0, tail = 0;  // bytes; the tail is the last of them
  std::uint64_t content = 0;            // XXH3 of all before
  std::uint64_t check = 0;              // XXH3 of this before
};

[[nodiscard]] inline std::uint64_t check_of(const IndexTrailer& trailer) {
  return hash_of({reinterpret_cast<const char*>(&trailer), offsetof(IndexTrailer, check)});
}

/// Whether a recording can be so long: a file that says more than 115 days is wrong.
[[nodiscard]] inline bool is_likely(const PackedLength& packed) {
  constexpr std::int64_t kMostSeconds = 10'000'000;
  const AudioLength length = packed.unpacked();
  return length.rate > 0 && length.samples <= kMostSeconds * length.rate;
}

struct IndexLine {
  std::uint64_t text = 0, where = 0;  // bytes
  double duration = 0;                // NaN: none
};

}  // namespace penstock::runtime
