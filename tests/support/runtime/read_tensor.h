#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"

namespace penstock::test {

/// Returns a checkpoint's tensor in FP32.
inline std::vector<float> read_tensor(const runtime::Checkpoint& checkpoint,
                                      const std::string& name) {
  const layers::Shape& shape = checkpoint.tensor(name).shape;
  std::vector<float> floats(static_cast<std::size_t>(layers::element_count(shape)));
  runtime::read_floats(checkpoint, name, 0, floats);
  return floats;
}

}  // namespace penstock::test
