#include "runtime/checkpoint/safetensors.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/error.h"
#include "runtime/checkpoint/safetensors_dtype.h"
#include "runtime/checkpoint/safetensors_header.h"

namespace penstock::runtime {
namespace {

constexpr std::uint64_t kPartBytes = 4 << 20;  // of SafetensorsFile::read

// The little-endian length field of the header. CheckpointError if the file can't hold it.
std::uint64_t header_length(std::span<const std::byte> file) {
  if (file.size() < kLengthBytes)
    throw CheckpointError("has " + std::to_string(file.size()) +
                          " bytes; a safetensors file has at least 8");
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;)
    length = length << 8 | std::to_integer<std::uint64_t>(file[i]);
  if (length > kSafetensorsHeaderLimit)
    throw CheckpointError("states a header of " + std::to_string(length) +
                          " bytes; at most 100000000 are allowed");
  if (length > file.size() - kLengthBytes)
    throw CheckpointError("states a header of " + std::to_string(length) + " bytes but has only " +
                          std::to_string(file.size() - kLengthBytes) + " after the length");
  return length;
}

}  // namespace

SafetensorsFile::SafetensorsFile(std::filesystem::path path)
    : path_(std::move(path)), file_(path_) {
  try {
    const std::size_t length = header_length(file_.bytes());
    data_begin_ = kLengthBytes + length;
    const auto* json = reinterpret_cast<const char*>(file_.bytes().data()) + kLengthBytes;
    header_ = parse_safetensors_header({json, length}, data_begin_, file_bytes());
  } catch (const CheckpointError& error) {
    throw CheckpointError(path_.string() + ": " + error.what());
  }
}

const SafetensorsEntry& SafetensorsFile::entry(std::string_view name) const {
  const auto found = std::ranges::find(header_.entries, name, &SafetensorsEntry::name);
  if (found == header_.entries.end())
    throw CheckpointError(path_.string() + ": holds no tensor '" + std::string(name) + "'");
  return *found;
}

std::span<const std::byte> SafetensorsFile::header_bytes() const {
  return file_.bytes().first(data_begin_);
}

std::span<const std::byte> SafetensorsFile::bytes(const SafetensorsEntry& entry) const {
  return bytes(entry.begin, entry.end);
}

std::span<const std::byte> SafetensorsFile::bytes(std::uint64_t begin, std::uint64_t end) const {
  return file_.bytes().subspan(begin, end - begin);
}

void SafetensorsFile::read(std::uint64_t begin, std::uint64_t end,
                           const std::function<void(std::span<const std::byte>)>& use) const {
  while (begin < end) {
    const std::uint64_t part_end = std::min(end, begin + kPartBytes);
    use(bytes(begin, part_end));
    file_.release(begin, part_end);
    begin = part_end;
  }
}

layers::Tensor SafetensorsFile::tensor(std::string_view name) const {
  const SafetensorsEntry& found = entry(name);
  const auto dtype = from_safetensors(found.dtype);
  const std::string where = path_.string() + ": tensor '" + std::string(name) + "' ";
  if (!dtype)
    throw CheckpointError(where + "is of " + found.dtype + ", which is not computed with");
  if (found.begin % layers::size_of(*dtype) != 0)
    throw CheckpointError(where + "starts at the misaligned byte " + std::to_string(found.begin));
  layers::Shape shape;
  for (const std::uint64_t size : found.shape) {
    if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      throw CheckpointError(where + "has a size of " + std::to_string(size));
    shape.push_back(static_cast<std::int64_t>(size));
  }
  return {const_cast<std::byte*>(bytes(found).data()), *dtype, std::move(shape)};
}

}  // namespace penstock::runtime
