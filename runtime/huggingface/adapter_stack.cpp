#include "runtime/huggingface/adapter_stack.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "layers/initialise.h"
#include "runtime/huggingface/name_patterns.h"

// transformers has modules q, k and v where penstock has one layer, and PEFT gives each an adapter
// of its own. Stacked, they are one adapter of the layer: A has the rows of all, and B is zero but
// for a block of each. With ranks 2 for q and 1 for v, and no adapter for k:
//
//       A            B
//   q0  . . . .      q q .    rows of q
//   q1  . . . .      q q .
//   v0  . . . .      . . .    rows of k
//                    . . .
//                    . . v    rows of v
//                    . . v
//
// Modules with equal A share its rows. So an adapter that penstock has exported, where q, k and v
// have one A, keeps its rank. All layers get the largest rank of one: the further rows of A have
// initial values and the further columns of B are 0, so that they add nothing and can be trained.
// All layers get the largest scale of a module, and the B of a module with another one is
// multiplied by the quotient. So the effective weights are the adapter's, but for rounding where
// scales differ.

namespace penstock::runtime {
namespace {

std::vector<float> read_matrix(const ReadElements& read, const std::string& name,
                               std::int64_t elements) {
  std::vector<float> numbers(static_cast<std::size_t>(elements));
  read(name, 0, numbers);
  return numbers;
}

/// Returns the columns of a weight of transformers.
std::int64_t columns_of(const TheirTensor& weight) { return weight.shape[1]; }

/// Returns the whole number that a product of rounded numbers stands for, if it is so near to one.
double without_rounding(double number) {
  constexpr double kRelativeError = 1e-14;
  const double whole = std::round(number);
  return std::abs(number - whole) <= kRelativeError * number ? whole : number;
}

/// Returns the parameters of a model by name.
std::map<std::string, layers::ParamDecl> parameters_of(const configs::ModelConfig& model,
                                                       int labels) {
  std::map<std::string, layers::ParamDecl> parameters;
  for (const layers::LayerPlan& plan : plan_model(model, labels))
    for (const layers::ParamDecl& parameter : plan.params)
      parameters.emplace(parameter.name, parameter);
  return parameters;
}

}  // namespace

// Equal matrices A of one layer are found by comparing them. They are small, and no more than
// those of one layer are in memory.
AdapterStack::AdapterStack(const PeftAdapter& adapter, const Pairing& pairing, std::int64_t blank)
    : adapter_(adapter), pairing_(pairing), blank_(blank) {
  const ReadElements read = adapter.reader();
  std::map<std::string, StackedLayer> layers;
  std::vector<std::vector<float>> of_layer;  // A of each part of the last layer
  std::string last;
  for (const TheirTensor& weight : pairing.tensors) {
    const auto found = adapter.modules().find(owner_of(weight.name));
    if (found == adapter.modules().end() || !weight.name.ends_with(".weight")) continue;
    const AdaptedModule& module = found->second;
    const std::string name = owner_of(weight.ours);
    if (std::exchange(last, name) != name) of_layer.clear();
    StackedLayer& layer = layers[name];
    layer.name = name;
    of_layer.push_back(read_matrix(read, module.a, module.rank * columns_of(weight)));
    const auto equal = std::ranges::find(of_layer, of_layer.back());
    StackedPart part{&weight, module, layer.rank};
    if (equal + 1 != of_layer.end()) {
      part.first = layer.parts[static_cast<std::size_t>(equal - of_layer.begin())].first;
    } else {
      layer.rank += module.rank;
    }
    layer.parts.push_back(std::move(part));
    rank_ = std::max(rank_, layer.rank);
    scale_ = std::max(scale_, module.scale);
  }
  for (auto& [name, layer] : layers) layers_.push_back(std::move(layer));
}

configs::LoraConfig AdapterStack::lora(const configs::Config& config, int labels) const {
  configs::LoraConfig lora;
  lora.rank = static_cast<int>(rank_);
  lora.alpha = without_rounding(scale_ * static_cast<double>(rank_));
  lora.dropout = adapter_.config().dropout;
  std::set<std::string> adapted, saved;
  for (const StackedLayer& layer : layers_) adapted.insert(layer.name);
  const LinearLayers all = linear_layers(config.model, labels);
  lora.targets = name_patterns(adapted, {all.begin(), all.end()});
  std::vector<std::string> parameters;
  for (const auto& [name, parameter] : parameters_of(config.model, labels))
    parameters.push_back(name);
  for (const TheirTensor& tensor : pairing_.tensors)
    if (adapter_.saved().contains(tensor.name) && !adapted.contains(owner_of(tensor.ours)) &&
        std::ranges::binary_search(parameters, tensor.ours))
      saved.insert(tensor.ours);
  lora.train = name_patterns(saved, parameters);
  return lora;
}

ComputedTensors AdapterStack::tensors(const configs::Config& config, int labels) const {
  const auto parameters = parameters_of(config.model, labels);
  ComputedTensors computed;
  for (const StackedLayer& layer : layers_) {
    const layers::ParamDecl a = parameters.at(lora_a(layer.name));
    const layers::Shape b = parameters.at(lora_b(layer.name)).shape;
    computed.emplace(a.name, [this, &layer, a, seed = config.trainer.seed] {
      std::vector<float> numbers(static_cast<std::size_t>(layers::element_count(a.shape)));
      layers::initialise(a, seed, {numbers.data(), layers::DType::f32, a.shape});
      put_a(layer, a.shape[1], numbers);
      return numbers;
    });
    computed.emplace(lora_b(layer.name),
                     [this, &layer, b] { return stacked_b(layer, b[0], b[1]); });
  }
  return computed;
}

/// Replaces the first rows of A by those of the parts, with the columns in penstock's order.
void AdapterStack::put_a(const StackedLayer& layer, std::int64_t in, std::vector<float>& a) const {
  const ReadElements read = adapter_.reader();
  for (const StackedPart& part : layer.parts) {
    const std::vector<float> theirs = read_matrix(read, part.module.a, part.module.rank * in);
    const std::vector<std::int64_t>& order = part.weight->columns;
    for (std::int64_t k = 0; k < part.module.rank; ++k)
      for (std::int64_t j = 0; j < in; ++j) {
        const std::int64_t column = order.empty() ? j : order[static_cast<std::size_t>(j)];
        a[static_cast<std::size_t>((part.first + k) * in + column)] =
            theirs[static_cast<std::size_t>(k * in + j)];
      }
  }
}

std::vector<float> AdapterStack::stacked_b(const StackedLayer& layer, std::int64_t out,
                                           std::int64_t rank) const {
  const ReadElements read = adapter_.reader();
  std::vector<float> b(static_cast<std::size_t>(out * rank));
  for (const StackedPart& part : layer.parts) {
    const std::int64_t ranks = part.module.rank;
    const std::vector<float> theirs = read_matrix(read, part.module.b, part.weight->rows * ranks);
    const auto factor = static_cast<float>(part.module.scale / scale_);
    const std::vector<std::int64_t> rows = our_rows(*part.weight, blank_);
    for (std::size_t j = 0; j < rows.size(); ++j)
      for (std::int64_t k = 0; k < ranks; ++k)
        b[static_cast<std::size_t>(rows[j] * rank + part.first + k)] =
            factor * theirs[j * static_cast<std::size_t>(ranks) + static_cast<std::size_t>(k)];
  }
  return b;
}

LowRankUpdates AdapterStack::updates(const StoredNames& stored) const {
  LowRankUpdates updates;
  for (const StackedLayer& layer : layers_)
    for (const StackedPart& part : layer.parts)
      updates.emplace(stored.at(part.weight->name), LowRankUpdate{.a = part.module.a,
                                                                  .b = part.module.b,
                                                                  .rank = part.module.rank,
                                                                  .in = columns_of(*part.weight),
                                                                  .scale = part.module.scale});
  return updates;
}

std::vector<std::int64_t> our_rows(const TheirTensor& tensor, std::int64_t blank) {
  std::vector<std::int64_t> rows;
  for (std::int64_t j = 0; j < tensor.rows; ++j)
    if (tensor.by_label) {
      rows.push_back(j == blank ? 0 : j < blank ? j + 1 : j);
    } else {
      rows.push_back(tensor.first_row + j);
    }
  return rows;
}

}  // namespace penstock::runtime
