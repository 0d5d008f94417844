#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "runtime/huggingface/tensor_stream.h"

namespace penstock::runtime {

/// Writes tensors to the file "NAME.safetensors".
using WritePart =
    std::function<void(const std::string& name, const std::vector<NamedTensor>& tensors)>;

/// Calls `write` for one file after another, named "model" or "model-00001-of-0000N" and so on, as
/// in write_weight_files(). Then writes their index, if there are several. Returns the number of
/// files.
int write_in_parts(const std::filesystem::path& folder, const std::vector<StreamedTensor>& tensors,
                   std::uint64_t max, const WritePart& write);

/// Writes model.safetensors. If that would exceed `max` bytes, writes
/// model-00001-of-0000N.safetensors and so on, with their index. A tensor that exceeds the bound
/// has a file of its own. Returns the number of files. Throws CheckpointError if a call fails.
int write_weight_files(const std::filesystem::path& folder,
                       const std::vector<StreamedTensor>& tensors, std::uint64_t max,
                       const ReadElements& read);

/// Writes one file, whatever its size. Throws CheckpointError if a call fails.
void write_weight_file(const std::filesystem::path& file,
                       const std::vector<StreamedTensor>& tensors, const ReadElements& read);

}  // namespace penstock::runtime
