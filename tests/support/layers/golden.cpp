#include "tests/support/layers/golden.h"

#include "runtime/checkpoint/safetensors/safetensors.h"
#include "tests/support/layers/tensors.h"
#include "tests/support/tree/sources.h"

namespace penstock::test {

Golden::Golden(const std::string& name) {
  const runtime::SafetensorsFile file(source("tests/golden") / (name + ".safetensors"));
  for (const runtime::SafetensorsEntry& entry : file.entries()) {
    const layers::Tensor tensor = file.tensor(entry.name);
    tensors_[entry.name] = {tensor.shape, numbers(tensor)};
  }
}

std::vector<std::int64_t> Golden::integers(const std::string& tensor) const {
  const std::vector<double>& values = tensors_.at(tensor).values;
  return {values.begin(), values.end()};
}

void Golden::copy(const std::string& tensor, const layers::Tensor& to) const {
  assign(to, tensors_.at(tensor).values);
}

double Golden::error(const layers::Tensor& a, const std::string& b) const {
  return relative_error(numbers(a), tensors_.at(b).values);
}

}  // namespace penstock::test
