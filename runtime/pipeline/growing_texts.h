#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "layers/losses/text_beam.h"
#include "runtime/pipeline/chunk.h"
#include "runtime/pipeline/hypothesis_slots.h"
#include "runtime/pipeline/step_work.h"

namespace penstock::runtime {

struct GrowingTexts;

/// The layers of a chunk that a round of written labels runs, planned for the rows of the texts
/// that go on.
///
/// A micro-batch of U utterances has U · N slots for a beam of N. Self-attention sees each slot as
/// an utterance. Cross-attention sees the hypotheses of an utterance as rows of one text, since
/// they attend to the same memory: so its keys and values exist once.
struct TextRound {
  struct Part {
    std::size_t layer = 0;  // of the chunk
    layers::ActivationDecl input, output;
    std::size_t workspace = 0;
  };
  struct Layers {
    partition::LayerRange from_chunk;  // the model's, from the chunk's first one on
    partition::LayerRun run;           // those of the chunk that are run
    const layers::BackendSizes& sizes;
  };

  TextRound(const GrowingTexts& texts, const partition::MicroBatchLayout& layout,
            const Layers& layers);

  std::int64_t width() const { return input.frames.back().channels; }
  std::int64_t rows() const { return input.frames.back().rows(); }

  layers::ActivationDecl input;
  std::vector<Part> parts;
};

/// The texts of one micro-batch while they are written (TextGeneration). Vectors of slots have the
/// hypotheses of an utterance one after the other.
struct GrowingTexts {
  /// `before` is the activation before the texts. The micro-batch must outlive this. `chunks` are
  /// those of the rank that take part.
  GrowingTexts(const MicroBatchWork& work, int beam, const layers::ActivationDecl& before,
               std::size_t chunks);

  bool grow() const;
  /// Takes the steps of a round.
  void advance();
  /// Counts the rows of the round that has run.
  void count_rows();
  /// Begins the searches, whose options lack TextBeamOptions::most, in the first round.
  void begin_searches(layers::TextBeamOptions options);

  /// Returns how many hypotheses of each utterance go on.
  std::vector<std::int64_t> growing_of_utterances() const;
  /// Return, for each text that goes on, the rows before its next one and its label.
  std::vector<std::int64_t> positions() const;
  std::vector<std::int32_t> ids() const;

  const MicroBatchWork* work;
  std::size_t beam;
  HypothesisSlots slots;
  std::vector<MicroBatchRun> runs = {};         // of the rank's chunks, with their caches
  std::vector<std::int64_t> past;               // rows of each utterance that are cached and count
  std::vector<std::int64_t> most;               // labels of each utterance at most
  std::vector<std::int64_t> past_of_slots;      // `past` of each slot's utterance
  std::vector<std::int64_t> growing;            // of each slot: 1 if its text goes on, else 0
  std::vector<layers::TextStep> steps;          // of each slot, in this round
  std::vector<layers::TextBeam> searches = {};  // of each utterance, on the last layer's rank
  std::vector<std::shared_ptr<const layers::CtcPrefixScore>> ctc;  // of each utterance, or null
  std::vector<float> first_rows = {};            // rows that predict the first labels
  std::vector<layers::TextStep> told = {};       // steps on their way to other ranks
  std::vector<std::optional<TextRound>> rounds;  // of `runs`; they change with `growing`
  std::vector<std::unique_ptr<comm::Transfer>> telling = {}, passing;

 private:
  void spread_past();
};

}  // namespace penstock::runtime
