#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "layers/tensor/tensor.h"
#include "runtime/checkpoint/safetensors_header.h"

namespace penstock::runtime {

/// A tensor that is to be written.
struct NamedTensor {
  std::string name;
  layers::Tensor tensor;
};

/// Gives a tensor's bytes from byte `begin` on in host memory: at least one, at most all that are
/// left. They hold until the next call.
using TensorBytes =
    std::function<std::span<const std::byte>(const layers::Tensor&, std::size_t begin)>;

/// Of a tensor in host memory: all that are left, where they lie.
[[nodiscard]] std::span<const std::byte> host_bytes(const layers::Tensor& tensor,
                                                    std::size_t begin);

/// What write_safetensors wrote.
struct SafetensorsLayout {
  std::string header;                     // length field and JSON: all that stands before the data
  std::vector<SafetensorsEntry> entries;  // in the order of the tensors given
  std::vector<std::string> hashes;        // XXH3-128 of each tensor's bytes
  std::uint64_t file_bytes = 0;
};

/// Writes a safetensors file: temporary name, flush, rename, flush of the folder. The data begin on
/// a kAlignment boundary; wider numbers come first, so that all are aligned to their size. Takes no
/// memory that grows with the tensors: they go to the file as `bytes` gives them.
/// CheckpointError on duplicate or unwritable names and on any call that fails; then no file of
/// that name is left half-written.
SafetensorsLayout write_safetensors(const std::filesystem::path& path,
                                    std::span<const NamedTensor> tensors,
                                    const std::map<std::string, std::string>& metadata = {},
                                    const TensorBytes& bytes = host_bytes);

}  // namespace penstock::runtime
