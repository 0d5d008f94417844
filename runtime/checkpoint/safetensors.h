#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "layers/tensor/tensor.h"
#include "runtime/checkpoint/mapped_file.h"
#include "runtime/checkpoint/safetensors_header.h"

namespace penstock::runtime {

/// Bytes of a header that a reader accepts at most, as the reference implementation does.
inline constexpr std::uint64_t kSafetensorsHeaderLimit = 100'000'000;

/// A safetensors file, checked as a whole when it is opened and mapped into memory. Nothing is
/// allocated by a size that has not been checked against the file. Every error is a CheckpointError
/// that names the file and the reason.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t file_bytes() const { return file_.bytes().size(); }

  /// By place in the file.
  std::span<const SafetensorsEntry> entries() const { return header_.entries; }
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }

  /// CheckpointError if there is no such tensor.
  const SafetensorsEntry& entry(std::string_view name) const;

  /// Length field and JSON: all that stands before the data.
  std::span<const std::byte> header_bytes() const;
  /// The tensor's numbers as they stand in the file, possibly misaligned.
  [[nodiscard]] std::span<const std::byte> bytes(const SafetensorsEntry& entry) const;
  /// Bytes [begin, end) of the file, which must lie within it.
  [[nodiscard]] std::span<const std::byte> bytes(std::uint64_t begin, std::uint64_t end) const;
  /// Calls `use` with one part after the other of bytes [begin, end), so that no more than a part
  /// is ever this process's memory.
  void read(std::uint64_t begin, std::uint64_t end,
            const std::function<void(std::span<const std::byte>)>& use) const;

  /// The numbers as a tensor that may only be read, valid as long as this object. CheckpointError
  /// if penstock does not compute with the dtype or the numbers are misaligned.
  [[nodiscard]] layers::Tensor tensor(std::string_view name) const;

 private:
  std::filesystem::path path_;
  MappedFile file_;
  std::size_t data_begin_ = 0;
  SafetensorsHeader header_;
};

}  // namespace penstock::runtime
