#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "runtime/huggingface/tensor_stream.h"

namespace penstock::runtime {

/// Writes tensors as "NAME.safetensors".
using WritePart =
    std::function<void(const std::string& name, const std::vector<NamedTensor>& tensors)>;

/// Has one file after the other written, "model" or "model-00001-of-0000N" and so on, as
/// write_weight_files() names them, and writes their index. Returns how many files.
int write_in_parts(const std::filesystem::path& folder, const std::vector<StreamedTensor>& tensors,
                   std::uint64_t most, const WritePart& write);

/// Writes model.safetensors, or, where that would have more than `most` bytes,
/// model-00001-of-0000N.safetensors and so on with their index. Returns how many files. A tensor
/// of more bytes has a file of its own. CheckpointError on any call that fails.
int write_weight_files(const std::filesystem::path& folder,
                       const std::vector<StreamedTensor>& tensors, std::uint64_t most,
                       const ReadElements& read);

/// Writes one file, whatever its size. CheckpointError on any call that fails.
void write_weight_file(const std::filesystem::path& file,
                       const std::vector<StreamedTensor>& tensors, const ReadElements& read);

}  // namespace penstock::runtime
