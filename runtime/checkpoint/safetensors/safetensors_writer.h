#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "layers/tensor/tensor.h"
#include "runtime/checkpoint/safetensors/safetensors_header.h"

namespace penstock::runtime {

/// A tensor to write.
struct NamedTensor {
  std::string name;
  layers::Tensor tensor;
};

/// Returns a tensor's bytes from byte `begin` on, in host memory: at least one, at most all of the
/// rest. They are valid until the next call.
using TensorBytes =
    std::function<std::span<const std::byte>(const layers::Tensor&, std::size_t begin)>;

/// Returns all remaining bytes of a tensor in host memory, without copying them.
[[nodiscard]] std::span<const std::byte> host_bytes(const layers::Tensor& tensor,
                                                    std::size_t begin);

/// The layout of a file that write_safetensors() has written.
struct SafetensorsLayout {
  std::string header;                     // length field and JSON, which precede the data
  std::vector<SafetensorsEntry> entries;  // in the order of the given tensors
  std::vector<std::string> hashes;        // XXH3-128 of each tensor's bytes
  std::uint64_t file_bytes = 0;
};

/// Writes a safetensors file: writes under a temporary name, flushes, renames, flushes the folder.
/// The data begins on a kAlignment boundary. Tensors with wider numbers come first, so that all are
/// aligned to their number's size. Memory use does not grow with the tensors, since `bytes`
/// provides them in parts. CheckpointError on duplicate or invalid names and if a system call
/// fails. No partly written file of that name is left then.
SafetensorsLayout write_safetensors(const std::filesystem::path& path,
                                    std::span<const NamedTensor> tensors,
                                    const std::map<std::string, std::string>& metadata = {},
                                    const TensorBytes& bytes = host_bytes);

}  // namespace penstock::runtime
