#include "runtime/checkpoint/safetensors/safetensors_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <string_view>

#include "base/atomic_file.h"
#include "base/error.h"
#include "runtime/checkpoint/hash.h"
#include "runtime/checkpoint/safetensors/safetensors.h"
#include "runtime/checkpoint/safetensors/safetensors_dtype.h"
#include "runtime/checkpoint/safetensors/safetensors_header.h"

namespace penstock::runtime {
namespace {

// Returns the order of the tensors in the file: wider numbers first, otherwise as given.
std::vector<std::size_t> file_order(std::span<const NamedTensor> tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t index) {
    return layers::size_of(tensors[index].tensor.dtype);
  });
  return order;
}

void check_names(std::span<const NamedTensor> tensors) {
  std::set<std::string_view> names;
  for (const NamedTensor& tensor : tensors) {
    if (tensor.name == "__metadata__" || tensor.name.find('\0') != std::string::npos)
      throw CheckpointError(fmt::format("a tensor can't be named '{}'", tensor.name));
    if (!names.insert(tensor.name).second)
      throw CheckpointError(fmt::format("two tensors are named '{}'", tensor.name));
  }
}

// JSON allows white space at its end, so spaces fill the header up to a multiple of kAlignment, and
// the data begin on one. Padding between tensors is impossible, since the format forbids holes.
std::string padded_header(const nlohmann::ordered_json& json) {
  std::string text = json.dump();
  text.resize(layers::aligned(kLengthBytes + text.size()) - kLengthBytes, ' ');
  if (text.size() > kSafetensorsHeaderLimit)
    throw CheckpointError(
        fmt::format("the header would take {} bytes, but readers accept 100000000", text.size()));
  std::string length(kLengthBytes, '\0');
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    length[i] = static_cast<char>(text.size() >> 8 * i);
  return length + text;
}

/// Places the tensors one after another in file order. Offsets in the header count from the data's
/// first byte; those of the layout count from the file's, which is known once the header is
/// written.
SafetensorsLayout lay_out(std::span<const NamedTensor> tensors,
                          const std::vector<std::size_t>& order,
                          const std::map<std::string, std::string>& metadata) {
  check_names(tensors);
  SafetensorsLayout layout;
  layout.entries.resize(tensors.size());
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!metadata.empty()) json["__metadata__"] = metadata;
  std::uint64_t reached = 0;
  for (const std::size_t index : order) {
    const auto& [name, tensor] = tensors[index];
    const std::uint64_t begin = reached;
    reached += tensor.bytes();
    const std::string dtype(to_safetensors(tensor.dtype));
    json[name] = {{"dtype", dtype}, {"shape", tensor.shape}, {"data_offsets", {begin, reached}}};
    layout.entries[index] = {
        name, dtype, {tensor.shape.begin(), tensor.shape.end()}, begin, reached};
  }
  layout.header = padded_header(json);
  for (SafetensorsEntry& entry : layout.entries) {
    entry.begin += layout.header.size();
    entry.end += layout.header.size();
  }
  layout.file_bytes = layout.header.size() + reached;
  return layout;
}

/// Writes a tensor and returns the hash of its bytes.
std::string write_tensor(AtomicFile& file, const layers::Tensor& tensor, const TensorBytes& bytes) {
  Xxh3 hash;
  for (std::size_t begin = 0; begin < tensor.bytes();) {
    const std::span<const std::byte> piece = bytes(tensor, begin);
    hash.add(piece);
    file.write(piece);
    begin += piece.size();
  }
  return hash.digest();
}

}  // namespace

std::span<const std::byte> host_bytes(const layers::Tensor& tensor, std::size_t begin) {
  return std::span(static_cast<const std::byte*>(tensor.data), tensor.bytes()).subspan(begin);
}

// The header is complete before the first number, since sizes follow from dtypes and shapes. So the
// file is written in one pass, and hashes are computed on the way.
SafetensorsLayout write_safetensors(const std::filesystem::path& path,
                                    std::span<const NamedTensor> tensors,
                                    const std::map<std::string, std::string>& metadata,
                                    const TensorBytes& bytes) try {
  const std::vector<std::size_t> order = file_order(tensors);
  SafetensorsLayout layout = lay_out(tensors, order, metadata);
  AtomicFile file(path);
  file.write(layout.header);
  layout.hashes.resize(tensors.size());
  for (const std::size_t index : order)
    layout.hashes[index] = write_tensor(file, tensors[index].tensor, bytes);
  file.commit();
  return layout;
} catch (const nlohmann::json::exception& error) {  // a name that is not UTF-8
  throw CheckpointError(
      fmt::format("{}: can't be written as JSON: {}", path.string(), error.what()));
}

}  // namespace penstock::runtime
