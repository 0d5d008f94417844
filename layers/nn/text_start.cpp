#include "layers/nn/text_start.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/quantities.h"

namespace penstock::layers {

std::int64_t TextStart::languages() const {
  return prompt.empty() ? 0 : std::ssize(prompts) / std::ssize(prompt);
}

std::span<const std::int32_t> TextStart::prompt_of_language(std::int32_t number) const {
  if (number == 0) return prompt;
  return prompts.subspan(static_cast<std::size_t>(number - 1) * prompt.size(), prompt.size());
}

std::vector<std::int32_t> TextStart::ids(const Context& context, const std::string& layer) const {
  std::vector<std::int32_t> ids;
  Targets none{};
  const Targets& targets = context.targets == nullptr ? none : *context.targets;
  if (!targets.prompts.empty() && targets.prompts.size() != context.lengths.size())
    throw ShapeError(fmt::format("{} was given prompts of {}, but there are {}", layer,
                                 counted(targets.prompts.size(), "utterance"),
                                 context.lengths.size()));
  std::span<const std::int32_t> labels = targets.labels;
  for (std::size_t u = 0; u < context.lengths.size(); ++u) {
    const std::int32_t number = targets.prompts.empty() ? 0 : targets.prompts[u];
    if (number < 0 || number > languages())
      throw ShapeError(fmt::format("{} was given language {}; it has prompts of {}", layer, number,
                                   counted(languages(), "language")));
    const auto own = prompt_of_language(number);
    const std::size_t count =
        context.targets == nullptr ? 0 : static_cast<std::size_t>(targets.lengths[u]);
    ids.insert(ids.end(), prefix.begin(), prefix.end());
    ids.insert(ids.end(), own.begin(), own.end());
    ids.push_back(bos);
    ids.insert(ids.end(), labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(count));
    labels = labels.subspan(count);
  }
  return ids;
}

void TextStart::check(std::int64_t classes, const std::string& layer) const {
  const auto expect = [&](std::int32_t id) {
    if (id < 0 || id >= classes)
      throw ShapeError(
          fmt::format("{} begins texts with id {}; its rows are 0 to {}", layer, id, classes - 1));
  };
  for (const auto& part : {prefix, prompt, prompts})
    for (const std::int32_t id : part) expect(id);
  expect(bos);
  if (prompts.empty() || (!prompt.empty() && prompts.size() % prompt.size() == 0)) return;
  throw ShapeError(fmt::format("{} has {} of languages, which are no prompts of {} each", layer,
                               counted(prompts.size(), "id"), prompt.size()));
}

}  // namespace penstock::layers
