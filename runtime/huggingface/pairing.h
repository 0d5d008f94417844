#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "configs/config.h"
#include "layers/tensor/tensor.h"
#include "runtime/huggingface/architecture.h"

namespace penstock::runtime {

/// Shapes of the parameters and states of a model of penstock's, by name.
using ModelTensors = std::map<std::string, layers::Shape, std::less<>>;

/// Those of a configuration's model with `labels` labels, found without allocating it. ConfigError
/// or ShapeError for a model that can't be built.
[[nodiscard]] ModelTensors model_tensors(const configs::ModelConfig& model, int labels);

/// A tensor of transformers, and what of penstock's it is.
struct TheirTensor {
  std::string name;
  std::string former;  // an earlier name, or empty
  layers::Shape shape;
  std::string ours;
  std::int64_t first_row = 0, rows = 0;  // of ours
  bool by_label = false;                 // its rows are labels
  std::vector<std::int64_t> columns =
      {};  // for each of theirs in a row, which of ours; empty: same
};

/// A tensor that is kept, and given back.
struct KeptTensor {
  std::string name;
  layers::DType dtype = layers::DType::f32;
  layers::Shape shape;
  std::vector<KeptWith> with;  // of KeptRule
};

struct Pairing {
  std::vector<TheirTensor> tensors;
  std::vector<KeptTensor> kept;
};

/// Whether a model with these settings has the tensor.
[[nodiscard]] bool has_tensor(const Settings& settings, const KeptTensor& tensor);

/// All tensors of an architecture for a model of penstock's: each of `ours` in one of them, or in
/// three. std::logic_error if a table leaves one out or names one that is not there.
[[nodiscard]] Pairing pair_tensors(const Architecture& architecture,
                                   const configs::ModelConfig& model, const ModelTensors& ours);

}  // namespace penstock::runtime
