#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "layers/tensor/tensor.h"
#include "runtime/checkpoint/safetensors_header.h"

namespace penstock {

/// A tensor in host memory that is to be written.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// What write_safetensors wrote.
struct SafetensorsLayout {
  std::string header;                     // length field and JSON: all that stands before the data
  std::vector<SafetensorsEntry> entries;  // in the order of the tensors given
  std::uint64_t file_bytes = 0;
};

/// Writes a safetensors file: temporary name, flush, rename, flush of the folder. The data begin on
/// a kAlignment boundary; wider numbers come first, so that all are aligned to their size.
/// CheckpointError on duplicate or unwritable names and on any call that fails; then no file of
/// that name is left half-written.
SafetensorsLayout write_safetensors(const std::filesystem::path& path,
                                    std::span<const NamedTensor> tensors,
                                    const std::map<std::string, std::string>& metadata = {});

}  // namespace penstock
