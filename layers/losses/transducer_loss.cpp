#include "layers/losses/transducer_loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "base/error.h"
#include "layers/losses/transducer_beam.h"
#include "layers/losses/transducer_greedy.h"

namespace penstock::layers {
namespace {

/// Returns the fewest frames of a path: each label takes the shortest duration, and a blank that
/// takes at least one frame ends it.
std::int64_t fewest_frames(const std::vector<std::int32_t>& durations, std::int64_t labels) {
  if (durations.empty()) return 1;
  const std::int64_t shortest = std::ranges::min(durations);
  const auto last = std::ranges::find_if(durations, [](std::int32_t d) { return d > 0; });
  return labels * shortest + (last == durations.end() ? 1 : *last);
}

TransducerOptions with_classes(TransducerOptions options, std::int64_t classes) {
  options.classes = classes;
  return options;
}

/// Decodes with parameters of its own.
class OwningDecoder {
 public:
  OwningDecoder(const TransducerOptions& options, const std::vector<HostParameter>& parameters,
                const DecodingOptions& decoding)
      : parameters_(parameters),
        classes_(parameters_.empty() ? 0 : parameters_.front().shape.at(0)),
        search_(search(with_classes(options, classes_), views(), decoding.beam)) {}

  std::vector<Hypothesis> hypotheses(std::span<const float> x_FJ, std::int64_t labels) const {
    if (labels > classes_)
      throw ShapeError(fmt::format("{} labels can't be told from {} classes", labels, classes_));
    std::vector<Hypothesis> decoded = search_(x_FJ);
    for (Hypothesis& one : decoded)
      std::erase_if(one.labels, [&](std::int32_t label) { return label >= labels; });
    return decoded;
  }

 private:
  using Search = std::function<std::vector<Hypothesis>(std::span<const float> x_FJ)>;

  static Search search(const TransducerOptions& options, std::span<const Tensor> params, int beam) {
    if (beam == 1)
      return [greedy = TransducerGreedy(options, params)](auto x_FJ) {
        return std::vector<Hypothesis>{{greedy.labels(x_FJ)}};
      };
    return [beams = TransducerBeam(options, params, {.beam = beam})](auto x_FJ) {
      return beams.hypotheses(x_FJ);
    };
  }

  std::vector<Tensor> views() {
    std::vector<Tensor> tensors;
    for (HostParameter& p : parameters_) tensors.push_back({p.values.data(), DType::f32, p.shape});
    return tensors;
  }

  std::vector<HostParameter> parameters_;
  std::int64_t classes_;
  Search search_;
};

}  // namespace

Loss transducer_loss(TransducerOptions options) {
  Loss loss;
  loss.channels = [joint = options.joint](int) { return static_cast<int>(joint); };
  loss.add_layers = [options](auto& sequence, int classes) {
    sequence.push_back(std::make_unique<Transducer>(with_classes(options, classes)));
  };
  loss.frames_needed = [durations = options.durations](std::span<const std::int32_t> labels) {
    return fewest_frames(durations, std::ssize(labels));
  };
  loss.beam_search = true;
  loss.make_decoder = [options](const std::vector<HostParameter>& parameters,
                                const DecodingOptions& decoding) -> Decoder {
    return [decoder = std::make_shared<const OwningDecoder>(options, parameters, decoding)](
               std::span<const float> x_FJ, std::int64_t, std::int64_t labels) {
      return decoder->hypotheses(x_FJ, labels);
    };
  };
  return loss;
}

}  // namespace penstock::layers
