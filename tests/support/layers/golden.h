#pragma once

#include <map>
#include <string>
#include <vector>

#include "layers/tensor/tensor.h"

namespace penstock::test {

/// Values that PyTorch computed: tests/golden/<name>.safetensors, made by make_golden.py there.
class Golden {
 public:
  /// CheckpointError if the file is missing or can't be read.
  explicit Golden(const std::string& name);

  bool has(const std::string& tensor) const { return tensors_.contains(tensor); }
  /// std::out_of_range if there is none of that name.
  const layers::Shape& shape(const std::string& tensor) const { return tensors_.at(tensor).shape; }
  const std::vector<double>& operator[](const std::string& tensor) const {
    return tensors_.at(tensor).values;
  }
  /// The numbers as integers: lengths, labels.
  std::vector<std::int64_t> integers(const std::string& tensor) const;

  /// Copies into a tensor of the same number of elements, rounded to its dtype.
  void copy(const std::string& tensor, const layers::Tensor& to) const;
  /// max|a-b| / max|b|, where b is the golden tensor.
  double error(const layers::Tensor& a, const std::string& b) const;

 private:
  struct Values {
    layers::Shape shape;
    std::vector<double> values;
  };
  std::map<std::string, Values> tensors_;
};

}  // namespace penstock::test
