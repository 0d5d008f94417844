#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/huggingface/tensor_stream.h"

namespace penstock::runtime {

/// Functions that return all elements of a tensor, by the tensor's name.
using ComputedTensors = std::map<std::string, std::function<std::vector<float>()>, std::less<>>;

/// Returns a function that reads these tensors, and all others by `read`. A tensor is computed when
/// it is first read, and only the last one is in memory.
[[nodiscard]] ReadElements computing_reader(ReadElements read, ComputedTensors computed);

}  // namespace penstock::runtime
