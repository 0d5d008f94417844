#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/huggingface/pairing.h"
#include "runtime/huggingface/tensor_stream.h"

namespace penstock::runtime {

/// The parameters and running statistics of a model, read one at a time when they are needed.
class ModelWeights {
 public:
  /// `read` reads a part of a tensor by its name, and `shapes` has the shapes of all.
  ModelWeights(ReadElements read, ModelTensors shapes)
      : read_(std::move(read)), shapes_(std::move(shapes)) {}

  bool contains(std::string_view name) const { return shapes_.contains(name); }

  /// std::out_of_range if there is no such tensor.
  const layers::Shape& shape(const std::string& name) const;

  /// Returns the whole tensor. CheckpointError that names it if a number is not finite.
  std::vector<float> read(const std::string& name) const;

  /// Returns the number of all parameters and statistics.
  std::int64_t numbers() const;

 private:
  ReadElements read_;
  ModelTensors shapes_;
};

}  // namespace penstock::runtime
