#include "runtime/trainer/head_start.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "base/encoded_text.h"
#include "base/error.h"
#include "base/quantities.h"
#include "layers/losses/transducer.h"
#include "layers/models/lora.h"
#include "runtime/checkpoint/fault.h"
#include "runtime/checkpoint/resume/resume.h"

namespace penstock::runtime {
namespace {

/// Returns the labels of the checkpoint's head. Its copy of text.model counts, since the file that
/// its recipe names may have moved or changed.
std::vector<Label> labels_of(const Checkpoint& checkpoint, const configs::Config& config) {
  configs::TextConfig text = saved_recipe(config, checkpoint.state()).text;
  if (const auto model = checkpoint.tokenizer_file(); !model.empty()) text.model = model.string();
  return make_tokenizer(text)->vocabulary();
}

/// Returns the parameters of a head that are taken row by row: those with rows of labels, without
/// an adapter that the checkpoint lacks.
std::vector<layers::ParamDecl> taken_by_rows(const Head& head, const Checkpoint& checkpoint) {
  std::vector<layers::ParamDecl> taken;
  for (const layers::ParamDecl& parameter : head.parameters) {
    const bool is_new =
        layers::is_lora_parameter(parameter.name) && !checkpoint.contains(parameter.name);
    if (has_rows_of_labels(parameter.name) && !is_new) taken.push_back(parameter);
  }
  return taken;
}

/// Throws ConfigError if a parameter has other rows than the outputs, as a recurrent layer has.
void require_rows(const std::vector<layers::ParamDecl>& parameters, std::int64_t outputs) {
  for (const layers::ParamDecl& parameter : parameters) {
    if (!parameter.shape.empty() && parameter.shape.front() == outputs) continue;
    throw ConfigError(fmt::format(
        "trainer.init_head = pieces keeps rows of a head that has one for each of its {}, but '{}' "
        "is [{}]: use trainer.init_head = auto, keep or new",
        counted(outputs, "output"), parameter.name, fmt::join(parameter.shape, ", ")));
  }
}

void require_rows_in(const Checkpoint& checkpoint, const std::vector<layers::ParamDecl>& parameters,
                     std::size_t labels) {
  for (const layers::ParamDecl& parameter : parameters) {
    const layers::Shape& shape = checkpoint.tensor(parameter.name).shape;
    if (shape.front() < static_cast<std::int64_t>(labels))
      throw_fault(checkpoint.folder(),
                  fmt::format("'{}' has {}, but [text] of its recipe has {}", parameter.name,
                              counted(shape.front(), "row"),
                              counted(static_cast<std::int64_t>(labels), "label")));
  }
}

[[noreturn]] void throw_nothing_shared(const std::vector<Label>& labels,
                                       const std::vector<Label>& before,
                                       const std::string& checkpoint) {
  throw ConfigError(fmt::format(
      "trainer.init_head = pieces keeps the rows of labels that the checkpoint has too, but the "
      "recipe's {} ({}) have only the blank in common with the {} of {} ({}). Start with a new "
      "head:\n  trainer.init_head=new\nor take the checkpoint's [text], which this prints:\n  "
      "penstock info {} --recipe",
      counted(std::ssize(labels), "label"), list_labels(labels),
      counted(std::ssize(before), "label"), checkpoint, list_labels(before),
      shell_word(checkpoint)));
}

}  // namespace

bool Head::has(std::string_view parameter) const {
  return std::ranges::find(parameters, parameter, &layers::ParamDecl::name) != parameters.end();
}

bool Head::covers(std::string_view tensor) const {
  const auto of = [&](const std::string& layer) { return tensor.starts_with(layer + "."); };
  return std::ranges::any_of(layers, of) || of(penstock::layers::TransducerOptions().name) ||
         of("decoder");
}

std::string Head::name() const {
  if (layers.size() > 2) return fmt::format("{} to {}", layers.front(), layers.back());
  return fmt::format("{}", fmt::join(layers, " and "));
}

Head find_head(const partition::LayerSequence& sequence,
               const std::vector<layers::LayerPlan>& plans) {
  auto first = static_cast<std::size_t>(partition::first_label_reader(plans));
  while (first > 0 && plans[--first].params.empty()) continue;
  Head head;
  for (std::size_t i = first; i < plans.size(); ++i) {
    if (plans[i].params.empty()) continue;
    head.layers.push_back(sequence.layers[i]->name());
    std::ranges::copy_if(plans[i].params, std::back_inserter(head.parameters),
                         [](const layers::ParamDecl& p) { return !p.tied(); });
  }
  return head;
}

bool has_rows_of_labels(std::string_view parameter) { return !parameter.ends_with(layers::kLoraA); }

HeadSource head_source(const configs::Config& config, const Head& head,
                       const Checkpoint& checkpoint, bool same_labels) {
  const std::string& asked = config.trainer.init_head;
  if (asked == "keep") return HeadSource::whole;
  if (asked == "new") return HeadSource::none;
  if (asked == "auto") return same_labels ? HeadSource::whole : HeadSource::none;
  const bool same_shape = std::ranges::all_of(head.parameters, [&](const auto& parameter) {
    const auto found = checkpoint.tensors().find(parameter.name);
    if (found == checkpoint.tensors().end()) return layers::is_lora_parameter(parameter.name);
    return found->second.shape == parameter.shape;
  });
  return same_labels && same_shape ? HeadSource::whole : HeadSource::rows;
}

KeptRows find_kept_rows(const configs::Config& config, const Tokenizer& tokenizer, const Head& head,
                        const Checkpoint& checkpoint) {
  const std::vector<Label> labels = tokenizer.vocabulary();
  const std::int64_t outputs = config.model.classes > 0 ? config.model.classes : std::ssize(labels);
  const std::vector<layers::ParamDecl> taken = taken_by_rows(head, checkpoint);
  require_rows(taken, outputs);
  const std::vector<Label> before = labels_of(checkpoint, config);
  require_rows_in(checkpoint, taken, before.size());
  KeptRows kept = pair_rows(labels, outputs, before);
  if (kept.kept() < 2) throw_nothing_shared(labels, before, config.trainer.init);
  for (const layers::ParamDecl& parameter : taken) kept.parameters.insert(parameter.name);
  return kept;
}

void require_trained(const Head& head, const KeptRows& kept) {
  if (!kept.empty() && kept.kept() == kept.rows()) return;
  std::vector<std::string> frozen;
  for (const layers::ParamDecl& parameter : head.parameters)
    if (parameter.frozen() && (kept.empty() || kept.parameters.contains(parameter.name)))
      frozen.push_back(parameter.name);
  if (frozen.empty()) return;
  const std::string names = fmt::format("{}", fmt::join(frozen, " and "));
  const std::string remedy = fmt::format(
      "leave the head out of optimizer.freeze and of lora.targets, with adapters add \"{}.*\" to "
      "lora.train, or ",
      fmt::join(head.layers, ".*\", \""));
  if (kept.empty())
    throw ConfigError(fmt::format(
        "{} anew, with random weights, but the head stays frozen: {}keep the checkpoint's head "
        "with trainer.init_head = keep",
        names + (frozen.size() == 1 ? " starts" : " start"), remedy));
  throw ConfigError(
      fmt::format("{} of the {} of {} would start anew, with random weights, but the head stays "
                  "frozen: {}train "
                  "with labels that the checkpoint has",
                  kept.rows() - kept.kept(), counted(kept.rows(), "row"), names, remedy));
}

}  // namespace penstock::runtime
