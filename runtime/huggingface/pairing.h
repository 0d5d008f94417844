#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "configs/config.h"
#include "layers/layer_plan.h"
#include "layers/tensor/tensor.h"
#include "runtime/huggingface/architecture.h"

namespace penstock::runtime {

/// Returns the plans of a model's layers for no utterances, without allocating it. Throws
/// ConfigError or ShapeError if the model can't be built.
[[nodiscard]] std::vector<layers::LayerPlan> plan_model(const configs::ModelConfig& model,
                                                        int labels);

/// Shapes of a penstock model's parameters and states, by name.
using ModelTensors = std::map<std::string, layers::Shape, std::less<>>;

/// Returns the tensors of a configuration's model with `labels` labels. Throws like plan_model().
[[nodiscard]] ModelTensors model_tensors(const configs::ModelConfig& model, int labels);

/// Returns the names of those that are not trained, such as running statistics.
[[nodiscard]] std::set<std::string> model_states(const configs::ModelConfig& model, int labels);

/// A tensor of transformers, and the part of penstock's tensor that it equals.
struct TheirTensor {
  std::string name;
  std::string former;  // an earlier name; empty if there is none
  layers::Shape shape;
  std::string ours;
  std::int64_t first_row = 0, rows = 0;  // range of penstock's rows
  bool by_label = false;                 // true if its rows are labels
  bool may_lack = false;                 // from TensorRule
  std::vector<std::int64_t> columns =
      {};  // for each of their columns, the index of ours; empty: same
};

struct Pairing {
  std::vector<TheirTensor> tensors;
  /// Names of whole numbers that an import keeps and an export writes again.
  std::vector<std::string> kept;
};

/// Returns all tensors of an architecture for a penstock model: each tensor in `ours` corresponds
/// to one of them, or to two or three. The vector of masked frames may have no counterpart, since
/// only training uses it. Throws std::logic_error if a table omits another tensor or names one that
/// does not exist.
[[nodiscard]] Pairing pair_tensors(const Architecture& architecture,
                                   const configs::ModelConfig& model, const ModelTensors& ours);

}  // namespace penstock::runtime
