#include "runtime/checkpoint/safetensors/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/quantities.h"
#include "runtime/checkpoint/safetensors/safetensors_dtype.h"
#include "runtime/checkpoint/safetensors/safetensors_header.h"

// A safetensors file consists of three parts:
//
//   8 bytes     length N of the header, little-endian
//   N bytes     JSON: {"__metadata__": {"format": "pt"},
//                      "bias": {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]}, …}
//   the rest    numbers of the tensors, little-endian, in row-major order
//
// Offsets count from the first byte of the third part. The file is mapped, so opening it reads only
// the header, and tensors can be used where they lie. Format: github.com/huggingface/safetensors

namespace penstock::runtime {
namespace {

constexpr std::uint64_t kPartBytes = 4 << 20;  // part size of SafetensorsFile::read

// Returns the little-endian length field of the header. CheckpointError if the file cannot hold it.
std::uint64_t header_length(std::span<const std::byte> file) {
  if (file.size() < kLengthBytes)
    throw CheckpointError(
        fmt::format("has {}, but a safetensors file has at least 8", counted(file.size(), "byte")));
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;)
    length = length << 8 | std::to_integer<std::uint64_t>(file[i]);
  if (length > kSafetensorsHeaderLimit)
    throw CheckpointError(
        fmt::format("states a header of {} bytes, but at most 100000000 are allowed", length));
  if (length > file.size() - kLengthBytes)
    throw CheckpointError(fmt::format("states a header of {}, but has only {} after the length",
                                      counted(length, "byte"), file.size() - kLengthBytes));
  return length;
}

}  // namespace

SafetensorsFile::SafetensorsFile(std::filesystem::path path)
    : path_(std::move(path)), file_(map_file(path_)) {
  try {
    const std::size_t length = header_length(file_.raw());
    data_begin_ = kLengthBytes + length;
    header_ = parse_safetensors_header(file_.bytes().substr(kLengthBytes, length), data_begin_,
                                       file_bytes());
  } catch (const CheckpointError& error) {
    throw CheckpointError(fmt::format("{}: {}", path_.string(), error.what()));
  }
}

const SafetensorsEntry& SafetensorsFile::entry(std::string_view name) const {
  const auto found = std::ranges::find(header_.entries, name, &SafetensorsEntry::name);
  if (found == header_.entries.end())
    throw CheckpointError(fmt::format("{}: holds no tensor '{}'", path_.string(), name));
  return *found;
}

std::span<const std::byte> SafetensorsFile::header_bytes() const {
  return file_.raw().first(data_begin_);
}

std::span<const std::byte> SafetensorsFile::bytes(const SafetensorsEntry& entry) const {
  return bytes(entry.begin, entry.end);
}

std::span<const std::byte> SafetensorsFile::bytes(std::uint64_t begin, std::uint64_t end) const {
  return file_.raw().subspan(begin, end - begin);
}

// Pages of a mapped file count as the process's memory once they are touched. Each part is dropped
// after its use, so that hashing a large checkpoint does not fill the memory.
void SafetensorsFile::read(std::uint64_t begin, std::uint64_t end,
                           const std::function<void(std::span<const std::byte>)>& use) const {
  while (begin < end) {
    const std::uint64_t part_end = std::min(end, begin + kPartBytes);
    use(bytes(begin, part_end));
    file_.forget(file_.bytes().substr(begin, part_end - begin));
    begin = part_end;
  }
}

// The view has the mapping's memory, so nothing is copied, and writing to it would kill the
// process. A tensor of a foreign file may begin at any byte; arithmetic on misaligned numbers is
// undefined.
layers::Tensor SafetensorsFile::tensor(std::string_view name) const {
  const SafetensorsEntry& found = entry(name);
  const auto dtype = from_safetensors(found.dtype);
  const std::string where = fmt::format("{}: tensor '{}'", path_.string(), name);
  if (!dtype)
    throw CheckpointError(
        fmt::format("{} is of {}, a type that penstock does not compute with", where, found.dtype));
  if (found.begin % layers::size_of(*dtype) != 0)
    throw CheckpointError(fmt::format("{} starts at the misaligned byte {}", where, found.begin));
  layers::Shape shape;
  for (const std::uint64_t size : found.shape) {
    if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      throw CheckpointError(fmt::format("{} has a size of {}", where, size));
    shape.push_back(static_cast<std::int64_t>(size));
  }
  return {const_cast<std::byte*>(bytes(found).data()), *dtype, std::move(shape)};
}

}  // namespace penstock::runtime
