#include "runtime/trainer/initial_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/quantities.h"
#include "base/unicode.h"
#include "configs/flatten.h"
#include "layers/models/intermediate_ctc_units.h"
#include "layers/models/lora.h"
#include "layers/models/span_masks.h"
#include "layers/models/training_parameters.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/checkpoint/resume/resume.h"
#include "runtime/checkpoint/resume/saved_tokenizer.h"
#include "runtime/data/index/cache_folder.h"
#include "runtime/trainer/head_start.h"

namespace penstock::runtime {
namespace {

using Flat = std::map<std::string, std::string>;

/// Returns the keys of a section, such as "text.alphabet", for which the checkpoint has another
/// value.
std::vector<std::string> changed(const Flat& now, const Flat& before, std::string_view section) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : now) {
    const auto was = before.find(key);
    if (key.starts_with(section) && was != before.end() && was->second != value)
      keys.push_back(key);
  }
  return keys;
}

/// Returns the recipe of the checkpoint. A key that it lacks is newer and gets its default. If the
/// checkpoint's model has another family, its recipe stays as saved; check() then reports that the
/// tensors do not fit.
Flat recipe_of(const configs::Config& config, const TrainingState& saved) {
  const auto kind = saved.config.find("model.kind");
  if (kind != saved.config.end() && kind->second != config.model.family.name()) return saved.config;
  return configs::flatten(saved_recipe(config, saved));
}

/// Returns the changed keys that change the labels. Folding, for example, changes transcripts but
/// not labels. A text.model is compared by its bytes, not its path; with one, the alphabet
/// has no effect.
std::vector<std::string> changed_labels(const configs::Config& config, const TrainingState& saved) {
  std::vector<std::string> keys =
      changed(configs::flatten(config), recipe_of(config, saved), "text.");
  std::erase(keys, "text.fold");
  std::erase(keys, "text.normalise");
  std::erase(keys, "text.remove");
  if (config.text.kind != "alphabet") std::erase(keys, "text.alphabet");
  if (tokenizer_change(config.text, saved).empty()) std::erase(keys, "text.model");
  return keys;
}

/// Shortens a value for a note.
std::string shortened(const std::string& value) {
  constexpr std::size_t kMax = 40;  // in characters
  const std::u32string characters = decode_utf8(value).characters;
  if (characters.size() <= kMax) return value;
  return fmt::format("{}…", to_utf8(std::u32string_view(characters).substr(0, kMax - 1)));
}

std::string told(const std::vector<std::string>& keys, const Flat& now, const Flat& before) {
  std::vector<std::string> texts;
  for (const std::string& key : keys)
    texts.push_back(fmt::format("{} is \"{}\", in the checkpoint \"{}\"", key,
                                shortened(now.at(key)), shortened(before.at(key))));
  return fmt::format("{}", fmt::join(texts, "; "));
}

/// True for what starts anew beside the head: what serves training alone if the checkpoint lacks
/// it, and intermediate CTC if its logits are of other labels.
bool starts_anew(const std::string& name, const Checkpoint& checkpoint, HeadSource source) {
  return (layers::serves_training_alone(name) && !checkpoint.contains(name)) ||
         (layers::is_intermediate_parameter(name) && source != HeadSource::whole);
}

/// Returns the parameters of all adapters if the checkpoint has none.
std::set<std::string> new_adapters(const Checkpoint& checkpoint,
                                   const std::vector<layers::LayerPlan>& plans) {
  std::set<std::string> adapters;
  for (const layers::LayerPlan& plan : plans)
    for (const layers::ParamDecl& p : plan.params)
      if (layers::is_lora_parameter(p.name)) adapters.insert(p.name);
  const bool has_some = std::ranges::any_of(
      adapters, [&](const std::string& name) { return checkpoint.contains(name); });
  return has_some ? std::set<std::string>() : adapters;
}

/// Compares the model's tensors with the checkpoint's, except those of a head that is
/// reinitialised, of new adapters and of what serves training alone.
class WeightAccounts {
 public:
  WeightAccounts(const Checkpoint& checkpoint, const Head& head, HeadSource source,
                 std::set<std::string> adapters)
      : checkpoint_(checkpoint), head_(head), source_(source), adapters_(std::move(adapters)) {}

  void expect(const std::string& name, const layers::Shape& shape) {
    known_.insert(name);
    const bool of_head = head_.has(name);
    if (adapters_.contains(name) || (of_head && source_ == HeadSource::none)) return;
    if (starts_anew(name, checkpoint_, source_)) return;
    const bool by_rows = of_head && source_ == HeadSource::rows && has_rows_of_labels(name);
    const auto found = checkpoint_.tensors().find(name);
    const std::string wanted = fmt::format("f32[{}]", fmt::join(shape, ", "));
    if (found == checkpoint_.tensors().end()) {
      faults_.push_back(fmt::format("'{}', {}, is missing", name, wanted));
      return;
    }
    const CheckpointTensor& stored = found->second;
    const bool is_weight = stored.dtype == layers::DType::f32 || layers::is_half(stored.dtype);
    const bool fits = by_rows ? equal_columns(stored.shape, shape) : stored.shape == shape;
    other_columns_ |= by_rows && !fits;
    if (!fits || !is_weight)
      faults_.push_back(fmt::format("'{}' is {}[{}], but the model expects {}", name,
                                    layers::name_of(stored.dtype), fmt::join(stored.shape, ", "),
                                    wanted));
  }

  /// Throws CheckpointError that lists all faults, including tensors that the model does not have.
  /// Optimizer slots and parts kept from an import are ignored. Throws ConfigError with the same
  /// list if the head can't be kept by rows.
  void close() {
    for (const auto& [name, tensor] : checkpoint_.tensors()) {
      const bool of_head = source_ == HeadSource::none && head_.covers(name);
      const bool of_no_model = name.starts_with(kSlotTensors) || name.starts_with(kKeptTensors);
      if (!known_.contains(name) && !of_no_model && !of_head &&
          !layers::serves_training_alone(name))
        faults_.push_back(fmt::format("'{}' is no tensor of the model", name));
    }
    if (faults_.empty()) return;
    const std::string message = fmt::format(
        "{}: does not fit the model of the recipe:\n  {}\nSet the keys of [model] and [features] "
        "to the checkpoint's, or name another checkpoint in trainer.init. trainer.init_head = new "
        "leaves out the head alone.",
        checkpoint_.place().name(), fmt::join(faults_, "\n  "));
    if (other_columns_)
      throw ConfigError(message + " trainer.init_head = pieces keeps rows of equal length.");
    throw CheckpointError(message);
  }

 private:
  /// True if tensors differ in the number of their rows at most.
  static bool equal_columns(const layers::Shape& a, const layers::Shape& b) {
    return a.size() == b.size() && !a.empty() && std::equal(a.begin() + 1, a.end(), b.begin() + 1);
  }

  const Checkpoint& checkpoint_;
  const Head& head_;
  HeadSource source_;
  std::set<std::string> adapters_, known_;
  std::vector<std::string> faults_;
  bool other_columns_ = false;
};

/// Throws ConfigError if intermediate CTC starts anew and is frozen: it would train the blocks
/// before it for random logits.
void require_trained_aids(const Checkpoint& checkpoint, const std::vector<layers::LayerPlan>& plans,
                          HeadSource source) {
  for (const layers::LayerPlan& plan : plans)
    for (const layers::ParamDecl& p : plan.params)
      if (p.frozen() && layers::is_intermediate_parameter(p.name) &&
          starts_anew(p.name, checkpoint, source))
        throw ConfigError(
            fmt::format("{} starts anew, with random weights, but stays frozen: leave it out of "
                        "optimizer.freeze, with adapters add \"*_ctc.*\" to lora.train, or set "
                        "model.intermediate_ctc=[]",
                        p.name));
}

void check(const Checkpoint& checkpoint, const std::vector<layers::LayerPlan>& plans,
           const Head& head, HeadSource source) {
  require_trained_aids(checkpoint, plans, source);
  WeightAccounts accounts(checkpoint, head, source, new_adapters(checkpoint, plans));
  for (const layers::LayerPlan& plan : plans) {
    for (const layers::ParamDecl& p : plan.params)
      if (!p.tied()) accounts.expect(p.name, p.shape);
    for (const layers::StateDecl& s : plan.state) accounts.expect(s.name, s.shape);
  }
  accounts.close();
}

/// True for keys that have no effect in evaluation, such as "model.layer_drop" and
/// "model.mask_time_prob".
bool acts_in_training(std::string_view key) {
  return key.find("drop") != std::string_view::npos || layers::is_key_of_masks(key) ||
         (layers::is_intermediate_key(key) && key != "model.self_conditioned_ctc");
}

/// True for parameters beside the head that may start anew, adapters (LoRA) aside.
bool is_aid(std::string_view name) {
  return (layers::serves_training_alone(name) || layers::is_intermediate_parameter(name)) &&
         !layers::is_lora_parameter(name);
}

/// Describes which of the parameters, or of the head's rows, start anew; "" if none does.
std::string told_of_start(const InitialWeights& weights, const Head& head,
                          const std::vector<Label>& labels) {
  std::set<std::string> of_head = weights.anew;
  const std::size_t adapters = std::erase_if(of_head, layers::is_lora_parameter);
  std::erase_if(of_head, is_aid);
  std::string text;
  if (head.layers.size() > 2 && !of_head.empty())
    text += fmt::format("; {} start anew", head.name());
  else if (!of_head.empty())
    text += fmt::format("; {} {} anew", fmt::join(of_head, " and "),
                        of_head.size() == 1 ? "starts" : "start");
  if (!weights.kept.empty())
    text += fmt::format("; {} {}", head.name(), describe_rows(weights.kept, labels));
  if (adapters > 0) text += fmt::format("; {} of LoRA start anew", counted(adapters, "parameter"));
  if (weights.anew.contains(std::string(layers::kMaskEmbedding)))
    text += fmt::format("; {} starts anew", layers::kMaskEmbedding);
  const auto of_ctc = [](std::string_view name) {
    return is_aid(name) && layers::is_intermediate_parameter(name);
  };
  if (const auto aids = std::ranges::count_if(weights.anew, of_ctc); aids > 0)
    text += fmt::format("; {} of intermediate CTC start anew", counted(aids, "parameter"));
  return text;
}

/// Describes the weights that the run takes, and the differences between its recipe and the
/// checkpoint's.
std::string told_of(const InitialWeights& weights, const configs::Config& config, const Head& head,
                    const std::vector<Label>& labels) {
  const TrainingState& saved = weights.checkpoint.state();
  const Flat now = configs::flatten(config), before = recipe_of(config, saved);
  const auto other_labels = changed_labels(config, saved);
  const auto& tensors = weights.checkpoint.tensors();
  const auto first = tensors.lower_bound(kAverageTensors);
  const bool averages = first != tensors.end() && first->first.starts_with(kAverageTensors);
  std::string text = fmt::format("the run starts from the {} of {} (step {})",
                                 averages ? "moving averages of the weights" : "weights",
                                 weights.checkpoint.place().name(), saved.step);
  const auto adapters = std::ranges::count_if(weights.anew, layers::is_lora_parameter);
  const auto aids = std::ranges::count_if(weights.anew, is_aid);
  const bool whole = adapters + aids == std::ssize(weights.anew) && weights.kept.empty();
  text += told_of_start(weights, head, labels);
  if (!other_labels.empty())
    text += fmt::format("; {}{}{}", whole ? head.name() : "",
                        !whole                    ? ""
                        : head.layers.size() == 1 ? " is taken although "
                                                  : " are taken although ",
                        told(other_labels, now, before));
  std::vector<std::string> others = changed(now, before, "model.");
  std::erase_if(others, [&](const std::string& key) {
    const bool sizes_head = (key == "model.classes" || key == "model.decoder") && !whole;
    return key == "model.base" || sizes_head || acts_in_training(key);
  });
  for (std::string& key : changed(now, before, "features.")) others.push_back(std::move(key));
  if (whole && config.model.decoder != "ctc")
    for (std::string& key : changed(now, before, "decoder."))
      if (key != "decoder.sigma" && key != "decoder.smoothing" && !key.ends_with("suppress") &&
          !acts_in_training(key))
        others.push_back(std::move(key));
  const bool takes_adapters = config.model.lora.rank > 0 && adapters == 0;
  if (takes_adapters && !changed(now, before, "lora.alpha").empty())
    others.emplace_back("lora.alpha");
  if (!others.empty())
    text += fmt::format("; the same weights may mean something else, since {}",
                        told(others, now, before));
  return text;
}

}  // namespace

// Rank 0 checks before the others go on. Then every rank derives the same answer by itself.
std::optional<InitialWeights> find_initial_weights(
    const configs::Config& config, const Tokenizer& tokenizer,
    const partition::LayerSequence& sequence, comm::Communicator& world,
    const std::function<void(const std::string&)>& note) {
  if (config.trainer.init.empty()) return std::nullopt;
  const std::vector<layers::LayerPlan> plans = partition::plan_without_frames(sequence, {});
  const Head head = find_head(sequence, plans);
  const auto check_all = [&](const Checkpoint& opened) {
    const bool same_labels = changed_labels(config, opened.state()).empty();
    const HeadSource source = head_source(config, head, opened, same_labels);
    check(opened, plans, head, source);
    if (source == HeadSource::none) require_trained(head, {});
    if (source == HeadSource::rows)
      require_trained(head, find_kept_rows(config, tokenizer, head, opened));
  };
  const Opening how = {.verified = Verified::read,
                       .cache = cache_folder(config.data.cache, config.data.cache_gib),
                       .check = check_all};
  InitialWeights weights{open_together(world, config.trainer.init, how)};
  const Checkpoint& checkpoint = weights.checkpoint;
  weights.same_labels = changed_labels(config, checkpoint.state()).empty();
  weights.anew = new_adapters(checkpoint, plans);
  const HeadSource source = head_source(config, head, checkpoint, weights.same_labels);
  for (const layers::LayerPlan& plan : plans)
    for (const layers::ParamDecl& p : plan.params)
      if (starts_anew(p.name, checkpoint, source)) weights.anew.insert(p.name);
  if (source == HeadSource::none)
    for (const layers::ParamDecl& parameter : head.parameters) weights.anew.insert(parameter.name);
  if (source == HeadSource::rows)
    weights.kept = find_kept_rows(config, tokenizer, head, checkpoint);
  note(told_of(weights, config, head, tokenizer.vocabulary()));
  return weights;
}

}  // namespace penstock::runtime
