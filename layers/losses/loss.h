#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "layers/layer.h"
#include "layers/losses/hypothesis.h"

namespace penstock::layers {

/// A parameter of the loss's layer in the host's memory, in FP32.
struct HostParameter {
  Shape shape;
  std::vector<float> values;
};

/// Decodes one utterance to texts of labels without class 0, the best first: at least one, and
/// DecodingOptions::beam at most. Its input is what enters the last layer, frames × `channels`.
/// Classes beyond the first `labels` mean nothing in text. ShapeError if the input is no whole
/// number of frames, or if there are more labels than classes.
using Decoder = std::function<std::vector<Hypothesis>(std::span<const float> x_FC,
                                                      std::int64_t channels, std::int64_t labels)>;

/// How a decoder searches. Penalty and weight are for beams above 1 of decoders that write texts.
struct DecodingOptions {
  int beam = 1;  // hypotheses that are kept; 1: greedy decoding
  /// Power of the length by which the score of an ended text is divided; empty: 1.
  std::optional<double> length_penalty = std::nullopt;
  /// Share of CTC's score, from 0 to 1; empty: TextWriting::ctc_weight.
  std::optional<double> ctc_weight = std::nullopt;
  /// Texts that are reported of each utterance, up to `beam`; 0: only the best one.
  int nbest = 0;
};

/// How a decoder writes texts label by label, each after those before it. Its layers are those of a
/// TextReader (layers/nn/text_reader.h) to the loss, whose parameters are TokenCrossEntropy's.
struct TextWriting {
  std::int32_t eos = 0;  // class that ends a text
  /// Share of the CTC that is trained beside. Above 0, its logits enter the last layer, as the
  /// first matrix.
  double ctc_weight = 0;
  /// Classes that no text has, and that no text begins with. Probabilities still count them.
  std::vector<std::int32_t> suppress = {}, begin_suppress = {};
  DecodingOptions decoding = {};

  /// Returns the share of CTC's score, of which greedy decoding knows none.
  double scored_ctc_weight() const {
    return decoding.beam == 1 ? 0 : decoding.ctc_weight.value_or(ctc_weight);
  }
};

/// A loss: the layers that end a model, and all that others ask about them. Class 0 is the loss's
/// own, such as the blank, and no text has it. The classes from 1 on are the labels of the text.
struct Loss {
  /// Returns the channels that its first layer takes.
  std::function<int(int classes)> channels;

  /// Appends the layers that end a sequence. The last puts the utterances' losses into
  /// Context::targets and has no output. Its plan needs targets, and counts their labels.
  std::function<void(std::vector<std::unique_ptr<Layer>>& sequence, int classes)> add_layers;

  /// Returns the fewest frames from which these labels can be learnt. Utterances with fewer are
  /// bad.
  std::function<std::int64_t(std::span<const std::int32_t> labels)> frames_needed;

  /// Makes a decoder from the parameters of the last layer, in the order of its plan.
  std::function<Decoder(const std::vector<HostParameter>& parameters, const DecodingOptions&)>
      make_decoder;

  /// Its decoders take beams above 1.
  bool beam_search = false;

  /// Makes the greedy decoder of a CTC that is trained beside; empty if there is none.
  std::function<Decoder()> make_ctc_decoder = nullptr;

  /// The encoder's last product makes `channels` channels. Otherwise there is none, and the encoder
  /// has so many.
  bool projects = true;

  /// The most labels of a text; utterances with more are bad. 0: no limit.
  std::int64_t most_labels = 0;

  /// Set for decoders that write texts, which have no make_decoder.
  std::optional<TextWriting> writing = std::nullopt;
};

}  // namespace penstock::layers
