#include "runtime/onnx/model_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/error.h"

namespace penstock::runtime {

const layers::Shape& ModelWeights::shape(const std::string& name) const {
  const auto found = shapes_.find(name);
  if (found == shapes_.end()) throw std::out_of_range("the model has no tensor " + name);
  return found->second;
}

std::vector<float> ModelWeights::read(const std::string& name) const {
  std::vector<float> numbers(static_cast<std::size_t>(layers::element_count(shape(name))));
  read_(name, 0, numbers);
  const auto wrong =
      std::ranges::find_if(numbers, [](float number) { return !std::isfinite(number); });
  if (wrong != numbers.end())
    throw CheckpointError(
        fmt::format("{} has the number {}: such a model recognises nothing; take an earlier "
                    "checkpoint of the training",
                    name, *wrong));
  return numbers;
}

std::int64_t ModelWeights::numbers() const {
  std::int64_t sum = 0;
  for (const auto& [name, shape] : shapes_) sum += layers::element_count(shape);
  return sum;
}

}  // namespace penstock::runtime
