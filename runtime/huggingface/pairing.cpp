#include "runtime/huggingface/pairing.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <stdexcept>

#include "configs/flatten.h"
#include "layers/models/training_parameters.h"
#include "partition/layout/build_model.h"

// Rules describe tensors of one layer; groups repeat them for each layer of the model. A rule
// stands for a weight and, if penstock's model has one, a bias, unless it is for one tensor alone.
// From a rule and the shape of penstock's tensor follows which rows and columns theirs are, and how
// it is shaped. The shape comes from penstock's own plan of the model, so tables hold no sizes.
//
// Two or three of their tensors may share one of penstock's (q, k and v, or the halves of a
// SwiGLU). Keys may have no bias; then q and v share it. Columns may be permuted where images lie
// in another order. Nothing else occurs, so copying a tensor is a gather of rows and columns.

// For example, the rule {"layers.{}.attention.k_proj", "block{}.attention.qkv", Rows::keys} of a
// model of width 1024 yields for the first layer:
//
//   theirs                              penstock's                     rows
//   layers.0.attention.k_proj.weight    block1.attention.qkv.weight    1024 to 2047, of 3072
//   layers.0.attention.k_proj.bias      block1.attention.qkv.bias      1024 to 2047

namespace penstock::runtime {
namespace {

std::string numbered(std::string_view name, int number) {
  std::string text(name);
  const std::size_t place = text.find("{}");
  return place == std::string::npos ? text : text.replace(place, 2, fmt::format("{}", number));
}

std::string joined(std::string_view name, std::string_view suffix) {
  return name.empty() ? "" : fmt::format("{}{}", name, suffix);
}

int whole_number(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Returns a number, or the length of a list.
int count_of(std::string_view text) {
  if (!text.starts_with('[')) return whole_number(text);
  return static_cast<int>(std::ranges::count(text, ',')) + 1;
}

/// A part of a tensor's rows: `count` of `parts` equal ones, from number `part` on, which counts
/// from 0.
struct RowShare {
  int part = 0, count = 1, parts = 1;
};

/// Heads of queries, and of keys, in attention whose heads share keys.
struct SharedHeads {
  int queries = 1, keys = 1;
  int all() const { return queries + 2 * keys; }
};

RowShare share_of(Rows rows, const SharedHeads& heads) {
  switch (rows) {
    case Rows::queries:
      return {0, 1, 3};
    case Rows::keys:
      return {1, 1, 3};
    case Rows::values:
      return {2, 1, 3};
    case Rows::shared_queries:
      return {0, heads.queries, heads.all()};
    case Rows::shared_keys:
      return {heads.queries, heads.keys, heads.all()};
    case Rows::shared_values:
      return {heads.queries + heads.keys, heads.keys, heads.all()};
    case Rows::memory_keys:
    case Rows::gates:
      return {0, 1, 2};
    case Rows::memory_values:
    case Rows::gated:
      return {1, 1, 2};
    case Rows::all:
    case Rows::labels:
      break;
  }
  return {};
}

/// Returns the share of a bias that keys have no part in; nothing for keys.
std::optional<RowShare> share_without_keys(Rows rows) {
  if (rows == Rows::keys || rows == Rows::memory_keys) return std::nullopt;
  if (rows == Rows::memory_values) return RowShare{};
  return RowShare{rows == Rows::queries ? 0 : 1, 1, 2};
}

/// Returns the shape of theirs for one of penstock's. The numbers and their order are the same:
/// only axes of size 1 are added or removed, or the first axis is split into heads.
layers::Shape their_shape(layers::Shape shape, Axes axes, std::int64_t heads) {
  switch (axes) {
    case Axes::same:
      break;
    case Axes::one_second:
      shape.insert(shape.begin() + 1, 1);
      break;
    case Axes::one_last:
      shape.push_back(1);
      break;
    case Axes::ones_last:
      shape.insert(shape.end(), 2, 1);
      break;
    case Axes::heads_first:
      shape.insert(shape.begin(), heads);
      shape[1] /= heads;
      break;
    case Axes::without_first:
      shape.erase(shape.begin());
      break;
  }
  return shape;
}

/// Returns, for each of their columns, the index of ours. Their columns form `blocks` consecutive
/// matrices of `outer` × `inner`; ours are the transposes. With one block, outer = 2 and inner = 3,
/// it returns 0 2 4 1 3 5.
std::vector<std::int64_t> transposed(std::int64_t blocks, std::int64_t outer, std::int64_t inner) {
  std::vector<std::int64_t> columns;
  for (std::int64_t block = 0; block < blocks; ++block)
    for (std::int64_t i = 0; i < outer; ++i)
      for (std::int64_t j = 0; j < inner; ++j) columns.push_back((block * inner + j) * outer + i);
  return columns;
}

/// Expands an architecture's rules into tensors. Every tensor of penstock must be used; the rules
/// are tables of this program, so a gap is a logic error.
class Pairer {
 public:
  Pairer(const configs::ModelConfig& model, const ModelTensors& ours) : ours_(ours) {
    configs::Config config;
    config.model = model;
    settings_ = configs::flatten(config);
    heads_ = whole_number(settings_["model.heads"]);
    const int queries = model.networks.heads, keys = model.networks.kv_heads;
    shared_ = {queries, keys > 0 ? keys : queries};
  }

  void add(const RuleGroup& group) {
    const auto key = settings_.find(std::string(group.repeats));
    const int repeats = count_of(key == settings_.end() ? group.repeats : key->second);
    prefix_ = group.prefix;
    for (int i = 0; i < repeats; ++i) {
      for (const TensorRule& rule : group.rules) add_rule(rule, i);
      for (const KeptRule& rule : group.kept) pairing_.kept.push_back(prefixed(rule.theirs, i));
    }
  }

  Pairing take() {
    for (const auto& [name, shape] : ours_)
      if (!used_.contains(name) && !layers::serves_training_alone(name))
        throw std::logic_error(fmt::format("no tensor of transformers is {}", name));
    return std::move(pairing_);
  }

 private:
  void add_rule(const TensorRule& rule, int layer) {
    const std::string ours = numbered(rule.ours, layer + 1);
    if (rule.alone) {
      if (ours_.contains(ours) || !rule.not_always)
        add_tensor(rule, layer, "", share_of(rule.rows, shared_));
      return;
    }
    const bool weight = ours_.contains(joined(ours, ".weight"));
    if (weight || !rule.not_always)
      add_tensor(rule, layer, ".weight", share_of(rule.rows, shared_));
    const auto found = ours_.find(joined(ours, ".bias"));
    if (found == ours_.end()) return;
    TensorRule bias = rule;
    bias.columns = Columns::same;
    bias.axes = Axes::same;
    const bool of_all =
        !weight || found->second.front() == shape_of(joined(ours, ".weight")).front();
    if (const auto share = of_all ? share_of(rule.rows, shared_) : share_without_keys(rule.rows))
      add_tensor(bias, layer, ".bias", *share);
  }

  void add_tensor(const TensorRule& rule, int layer, std::string_view suffix,
                  const RowShare& share) {
    TheirTensor tensor{.name = joined(prefixed(rule.theirs, layer), suffix),
                       .former = prefixed(rule.formerly, layer),
                       .shape = {},
                       .ours = joined(numbered(rule.ours, layer + 1), suffix),
                       .by_label = rule.rows == Rows::labels,
                       .may_lack = rule.may_lack};
    const layers::Shape& shape = shape_of(tensor.ours);
    tensor.rows = shape.front();
    const std::int64_t part = tensor.rows / share.parts;
    tensor.rows = part * share.count;
    tensor.first_row = part * share.part;
    tensor.columns = columns_of(rule, shape);
    tensor.shape = shape;
    tensor.shape.front() = tensor.rows;
    tensor.shape = their_shape(tensor.shape, rule.axes, heads_);
    if (rule.columns == Columns::time_first)
      std::swap(*(tensor.shape.end() - 1), *(tensor.shape.end() - 2));
    used_.insert(tensor.ours);
    pairing_.tensors.push_back(std::move(tensor));
  }

  std::vector<std::int64_t> columns_of(const TensorRule& rule, const layers::Shape& shape) const {
    if (rule.columns == Columns::same) return {};
    if (rule.columns == Columns::channel_first) {
      const std::int64_t channels = shape_of(std::string(rule.channels_of)).front();
      return transposed(1, channels, shape.back() / channels);
    }
    const std::int64_t frequencies = shape[shape.size() - 2], times = shape.back();
    const std::int64_t columns = layers::element_count(shape) / shape.front();
    return transposed(columns / (frequencies * times), times, frequencies);
  }

  /// Returns their name with the group's prefix and the layer's number; an empty name stays empty.
  std::string prefixed(std::string_view name, int layer) const {
    return name.empty() ? "" : fmt::format("{}{}", prefix_, numbered(name, layer));
  }

  const layers::Shape& shape_of(const std::string& ours) const {
    const auto found = ours_.find(ours);
    if (found == ours_.end())
      throw std::logic_error(fmt::format("the model has no tensor {}", ours));
    return found->second;
  }

  const ModelTensors& ours_;
  configs::FlatConfig settings_;
  std::int64_t heads_ = 1;
  SharedHeads shared_;
  std::string_view prefix_;  // current group's
  std::set<std::string, std::less<>> used_;
  Pairing pairing_;
};

}  // namespace

std::vector<layers::LayerPlan> plan_model(const configs::ModelConfig& model, int labels) {
  return partition::plan_without_frames(partition::build_model(model, labels), {});
}

ModelTensors model_tensors(const configs::ModelConfig& model, int labels) {
  ModelTensors tensors;
  for (const layers::LayerPlan& plan : plan_model(model, labels)) {
    for (const layers::ParamDecl& parameter : plan.params)
      if (!parameter.tied()) tensors.emplace(parameter.name, parameter.shape);
    for (const layers::StateDecl& state : plan.state) tensors.emplace(state.name, state.shape);
  }
  return tensors;
}

std::set<std::string> model_states(const configs::ModelConfig& model, int labels) {
  std::set<std::string> names;
  for (const layers::LayerPlan& plan : plan_model(model, labels))
    for (const layers::StateDecl& state : plan.state) names.insert(state.name);
  return names;
}

Pairing pair_tensors(const Architecture& architecture, const configs::ModelConfig& model,
                     const ModelTensors& ours) {
  Pairer pairer(model, ours);
  for (const RuleGroup& group : architecture.tensors) pairer.add(group);
  return pairer.take();
}

}  // namespace penstock::runtime
