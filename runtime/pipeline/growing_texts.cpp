#include "runtime/pipeline/growing_texts.h"

#include <algorithm>
#include <utility>

namespace penstock::runtime {
namespace {

/// Declares rows of texts, beside matrices without rows.
void set_text_lengths(layers::ActivationDecl& decl, const std::vector<std::int64_t>& lengths) {
  for (layers::FramesDecl& frames : decl.frames) frames.lengths.assign(lengths.size(), 0);
  decl.frames.back().lengths = lengths;
  decl.labels.assign(lengths.size(), 0);
}

}  // namespace

TextRound::TextRound(const GrowingTexts& texts, const partition::MicroBatchLayout& layout,
                     const Layers& layers)
    : input(layout.activations[static_cast<std::size_t>(layers.run.first)]) {
  const std::vector<std::int64_t> of_utterances = texts.growing_of_utterances();
  set_text_lengths(input, texts.growing);
  layers::ActivationDecl next = input;
  for (auto i = static_cast<std::size_t>(layers.run.first);
       i < static_cast<std::size_t>(layers.run.last); ++i) {
    Part& part = parts.emplace_back();
    part.layer = i;
    part.input = next;
    set_text_lengths(part.input, layout.layers[i].caches_memory ? of_utterances : texts.growing);
    const layers::LayerPlan plan = layers.from_chunk[i]->plan(part.input, layers.sizes);
    part.output = layers::next_input(part.input, plan);
    part.workspace = plan.workspace.forward;
    next = part.output;
  }
}

GrowingTexts::GrowingTexts(const MicroBatchWork& of, int hypotheses,
                           const layers::ActivationDecl& before, std::size_t chunks)
    : work(&of),
      beam(static_cast<std::size_t>(hypotheses)),
      slots(hypotheses, before.frames.back().lengths),
      past(before.frames.back().lengths),
      most(partition::most_written(before)),
      past_of_slots(past.size() * beam),
      growing(past.size() * beam),
      steps(past.size() * beam),
      ctc(past.size()),
      rounds(chunks),
      passing(chunks) {
  for (std::size_t slot = 0; slot < growing.size(); slot += beam) growing[slot] = 1;
  spread_past();
}

void GrowingTexts::spread_past() {
  for (std::size_t slot = 0; slot < past_of_slots.size(); ++slot)
    past_of_slots[slot] = past[slot / beam];
}

bool GrowingTexts::grow() const { return std::ranges::count(growing, 1) > 0; }

void GrowingTexts::advance() {
  std::vector<std::int64_t> now;
  for (const layers::TextStep& step : steps) now.push_back(step.goes_on() ? 1 : 0);
  if (now == growing) return;
  growing = std::move(now);
  for (std::optional<TextRound>& round : rounds) round.reset();
}

void GrowingTexts::count_rows() {
  const std::vector<std::int64_t> sums = growing_of_utterances();
  for (std::size_t u = 0; u < past.size(); ++u) past[u] += sums[u] > 0 ? 1 : 0;
  spread_past();
}

void GrowingTexts::begin_searches(layers::TextBeamOptions options) {
  for (std::size_t u = 0; u < most.size(); ++u) {
    options.most = most[u];
    searches.emplace_back(options, ctc[u]);
  }
}

std::vector<std::int64_t> GrowingTexts::growing_of_utterances() const {
  std::vector<std::int64_t> sums(past.size());
  for (std::size_t slot = 0; slot < growing.size(); ++slot) sums[slot / beam] += growing[slot];
  return sums;
}

std::vector<std::int64_t> GrowingTexts::positions() const {
  std::vector<std::int64_t> positions;
  for (std::size_t slot = 0; slot < growing.size(); ++slot)
    if (growing[slot] > 0) positions.push_back(past_of_slots[slot]);
  return positions;
}

std::vector<std::int32_t> GrowingTexts::ids() const {
  std::vector<std::int32_t> ids;
  for (const layers::TextStep& step : steps)
    if (step.goes_on()) ids.push_back(step.label);
  return ids;
}

}  // namespace penstock::runtime
