#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::runtime {

/// Size of the length field at the start of a safetensors file, in bytes.
inline constexpr std::size_t kLengthBytes = 8;

/// One tensor of a safetensors file, as its header states it.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;                 // the format's own name: "F32", "BOOL", "F8_E4M3", …
  std::vector<std::uint64_t> shape;  // sizes as stated; beside a zero, one may exceed 2^63
  std::uint64_t begin = 0, end = 0;  // bytes, from the first byte of the file
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of their positions in the file
  std::map<std::string, std::string> metadata;
};

/// Parses the JSON header of a safetensors file of `file_bytes` bytes, whose data begins at byte
/// `data_begin`. Rejects text that is not strict UTF-8 JSON, duplicate keys (even if escaped
/// differently), and NUL in names. Rejects numbers with sign, point or exponent, and element counts
/// that overflow. Rejects sizes that differ from the offsets, holes, overlaps and left-over bytes.
/// Throws CheckpointError with the reason; the caller adds the file's name.
[[nodiscard]] SafetensorsHeader parse_safetensors_header(std::string_view json,
                                                         std::uint64_t data_begin,
                                                         std::uint64_t file_bytes);

}  // namespace penstock::runtime
