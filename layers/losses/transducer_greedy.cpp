#include "layers/losses/transducer_greedy.h"

#include <algorithm>
#include <cstddef>

// A step multiplies the joint network's weights by one row, and a label the prediction network's,
// so an utterance costs (T + U) · J · K multiply-adds and little else.

namespace penstock::layers {
namespace {

/// Returns the place of the largest number, the first of equals.
std::ptrdiff_t best(std::span<const float> numbers) {
  return std::ranges::max_element(numbers) - numbers.begin();
}

}  // namespace

std::vector<std::int32_t> TransducerGreedy::labels(std::span<const float> encoded_TJ) const {
  const auto width = static_cast<std::size_t>(networks_.options().joint);
  const auto classes = static_cast<std::size_t>(networks_.options().classes);
  std::shared_ptr<const TransducerStep::State> state = networks_.start();
  std::vector<std::int32_t> written;
  int at_frame = 0;  // labels since the last advance
  for (std::size_t t = 0, frames = networks_.frames(encoded_TJ); t < frames;) {
    const TransducerStep::State* states[] = {state.get()};
    const std::vector<float> logits =
        networks_.logits(states, encoded_TJ.subspan(t * width, width));
    const auto token = static_cast<std::int32_t>(best(std::span(logits).first(classes)));
    const auto duration = static_cast<std::size_t>(best(std::span(logits).subspan(classes)));
    std::int32_t advance = networks_.advance(token, duration);
    if (token != 0) {
      written.push_back(token);
      state = networks_.read(*state, token);
      if (advance == 0 && ++at_frame == kMaxLabelsAtFrame) advance = 1;
    }
    if (advance > 0) at_frame = 0;
    t += static_cast<std::size_t>(advance);
  }
  return written;
}

}  // namespace penstock::layers
