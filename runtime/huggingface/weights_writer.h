#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "runtime/huggingface/tensor_stream.h"

namespace penstock::runtime {

/// Writes model.safetensors, or, where that would have more than `most` bytes,
/// model-00001-of-0000N.safetensors and so on with their index. Returns how many files. A tensor
/// of more bytes has a file of its own. CheckpointError on any call that fails.
int write_weight_files(const std::filesystem::path& folder,
                       const std::vector<StreamedTensor>& tensors, std::uint64_t most,
                       const ReadElements& read);

}  // namespace penstock::runtime
