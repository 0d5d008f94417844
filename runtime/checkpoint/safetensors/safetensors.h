#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/mapped_file.h"
#include "layers/tensor/tensor.h"
#include "runtime/checkpoint/safetensors/safetensors_header.h"

namespace penstock::runtime {

/// Maximum size of a header in bytes, as in the reference implementation.
inline constexpr std::uint64_t kSafetensorsHeaderLimit = 100'000'000;

/// A safetensors file, mapped into memory. The whole structure is checked when it is opened. Sizes
/// from the file are checked against its length before anything is allocated. Every error is a
/// CheckpointError that names the file and the reason.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t file_bytes() const { return file_.bytes().size(); }

  /// Entries in the order of their positions in the file.
  std::span<const SafetensorsEntry> entries() const { return header_.entries; }
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }

  /// Throws CheckpointError if there is no such tensor.
  const SafetensorsEntry& entry(std::string_view name) const;

  /// The length field and the JSON text, which precede the data.
  std::span<const std::byte> header_bytes() const;
  /// Returns the tensor's bytes in the mapped file. They may be misaligned.
  [[nodiscard]] std::span<const std::byte> bytes(const SafetensorsEntry& entry) const;
  /// Returns bytes [begin, end) of the file, which must lie within it.
  [[nodiscard]] std::span<const std::byte> bytes(std::uint64_t begin, std::uint64_t end) const;
  /// Calls `use` with consecutive parts of bytes [begin, end). Only one part at a time takes
  /// physical memory.
  void read(std::uint64_t begin, std::uint64_t end,
            const std::function<void(std::span<const std::byte>)>& use) const;

  /// Returns a read-only view of a tensor, valid during the lifetime of this object.
  /// CheckpointError if penstock does not support the dtype or the data is misaligned.
  [[nodiscard]] layers::Tensor tensor(std::string_view name) const;

 private:
  std::filesystem::path path_;
  MappedFile file_;
  std::size_t data_begin_ = 0;
  SafetensorsHeader header_;
};

}  // namespace penstock::runtime
