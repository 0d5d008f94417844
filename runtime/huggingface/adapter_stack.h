#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "configs/config.h"
#include "runtime/huggingface/computed_tensors.h"
#include "runtime/huggingface/low_rank_update.h"
#include "runtime/huggingface/pairing.h"
#include "runtime/huggingface/peft_adapter.h"
#include "runtime/huggingface/streams.h"

namespace penstock::runtime {

/// A module's part of the adapter of one of penstock's layers.
struct StackedPart {
  const TheirTensor* weight = nullptr;  // the module's W
  AdaptedModule module;
  std::int64_t first = 0;  // first of its rows in A, and of its columns in B
};

/// The adapter of one of penstock's linear layers.
struct StackedLayer {
  std::string name;
  std::int64_t rank = 0;  // rows of A that its parts take
  std::vector<StackedPart> parts;
};

/// A PEFT adapter as adapters of penstock's layers, which all have one rank and one scale.
class AdapterStack {
 public:
  /// `adapter` must fit the base, see PeftAdapter::check_base(). Row `blank` of the head is the
  /// blank's. The pairing must outlive this object.
  AdapterStack(const PeftAdapter& adapter, const Pairing& pairing, std::int64_t blank);

  const std::vector<StackedLayer>& layers() const { return layers_; }

  /// Returns the section [lora] of a model's recipe: rank, alpha, dropout, the patterns of the
  /// adapted layers, and those of the parameters that the adapter has as a whole.
  [[nodiscard]] configs::LoraConfig lora(const configs::Config& config, int labels) const;

  /// Returns A and B of each layer, for a recipe with this section [lora]. Rows of A beyond those
  /// of the adapter have the initial values of `seed`; columns of B beyond them are 0.
  [[nodiscard]] ComputedTensors tensors(const configs::Config& config, int labels) const;

  /// Returns the updates of the base's weights, by their names in the base's folder. `stored` tells
  /// these. The factors are read by PeftAdapter::reader().
  [[nodiscard]] LowRankUpdates updates(const StoredNames& stored) const;

 private:
  [[nodiscard]] std::vector<float> stacked_b(const StackedLayer& layer, std::int64_t out,
                                             std::int64_t rank) const;
  void put_a(const StackedLayer& layer, std::int64_t in, std::vector<float>& a) const;

  const PeftAdapter& adapter_;
  const Pairing& pairing_;
  std::int64_t blank_ = 0;
  double scale_ = 0;       // of all layers
  std::int64_t rank_ = 0;  // the largest of a layer
  std::vector<StackedLayer> layers_;
};

/// Returns, for each row of a tensor of transformers, the row of penstock's tensor.
[[nodiscard]] std::vector<std::int64_t> our_rows(const TheirTensor& tensor, std::int64_t blank);

}  // namespace penstock::runtime
