#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <vector>

#include "layers/losses/hypothesis.h"
#include "layers/losses/loss.h"
#include "layers/losses/text_beam.h"
#include "layers/nn/text_reader.h"
#include "layers/scratch.h"
#include "runtime/pipeline/chunk.h"
#include "runtime/pipeline/growing_texts.h"
#include "runtime/pipeline/hypothesis_slots.h"
#include "runtime/pipeline/local_layers.h"
#include "runtime/pipeline/step_work.h"

namespace penstock::runtime {

/// A stage lends these parts to the writing of texts. All of them outlive that.
struct StageParts {
  layers::Backend& backend;
  layers::Stream& stream;
  comm::Communicator& pipeline;  // reaches the neighbours' memory
  comm::Communicator& host;      // the same ranks' host memory
  const partition::LayerSequence& sequence;
  const layers::BackendSizes& sizes;
  const std::vector<int>& cut;          // first layer of each chunk, then the number of layers
  const std::vector<int>& chunk_ranks;  // rank of each chunk
  const LocalLayers& local;
  const ParameterStore& parameters;
  std::deque<Chunk>& chunks;
  BufferRing& scratch;
};

/// Writes texts with a decoder that predicts each label from those before it (layers::TextWriting),
/// over the stages of a pipeline: greedily, or by a beam search (layers::TextBeam).
///
/// An evaluation first runs the known rows of a window of micro-batches forward, as for any model,
/// and layers keep keys and values of the rows before the texts (ExecutorCallbacks::caches). Then
/// the texts grow by a label a round. The rank with the last layer chooses the hypotheses that go
/// on, and sends their labels and whose texts they continue to the ranks of the decoder's layers.
/// Each lets the caches follow (HypothesisSlots), runs a row for each hypothesis, and passes it on
/// as it passes activations. A window has as many micro-batches as the model has chunks, so that
/// all ranks have work.
///
/// A text ends with TextWriting::eos, or after partition::most_written() labels.
class TextGeneration {
 public:
  /// The texts of an utterance without eos, the best first: TextBeam::hypotheses().
  using Texts = std::vector<layers::Hypothesis>;
  /// Receives the texts of each utterance of a micro-batch, on the last layer's rank.
  using Heard = std::function<void(const MicroBatchWork&, std::vector<Texts>)>;

  /// `progress` is called after every round of labels, and may be empty. ShapeError if the sequence
  /// has room for another beam than that of the decoding.
  TextGeneration(const StageParts& stage, const layers::TextWriting& writing, Heard heard,
                 std::function<void()> progress = {});
  TextGeneration(const TextGeneration&) = delete;
  TextGeneration& operator=(const TextGeneration&) = delete;
  ~TextGeneration();

  /// Begins a window. The micro-batches must outlive it, and state the labels of each utterance.
  void begin(std::span<const MicroBatchWork> window);
  /// Takes the rows that enter the last layer, in FP32 and in the host's memory, for a micro-batch
  /// of the window: the one before the first label predicts it.
  void read(const MicroBatchWork& work, const layers::Frames& rows);
  /// Takes CTC's logits of a micro-batch of the window, in FP32 and in the host's memory, before
  /// read(). Only where TextWriting::scored_ctc_weight() is above 0.
  void read_frames(const MicroBatchWork& work, const layers::Frames& logits);
  /// Writes the window's texts to their ends.
  void write();

 private:
  struct Room;
  using Classes = std::vector<std::vector<layers::ScoredClass>>;  // of each row

  bool writes() const { return !own_.empty(); }
  bool last() const { return stage_.chunk_ranks.back() == stage_.pipeline.rank(); }
  bool is_last(int chunk) const { return chunk + 1 == std::ssize(stage_.chunk_ranks); }
  /// Return the layer that reads labels, its parameters, and those of the loss. Only for ranks that
  /// hold them.
  std::size_t local_reader() const;
  const layers::TextReader& reader() const;
  layers::Params table() const;
  layers::Params head() const;

  GrowingTexts make_texts(const MicroBatchWork& work, int buffer) const;
  GrowingTexts& texts_of(const MicroBatchWork& work);
  void learn(GrowingTexts& texts);
  void follow(const GrowingTexts& texts, std::span<const SlotCopy> copies);
  void run_chunk(GrowingTexts& texts, std::size_t k);
  layers::Tensor take_rows(GrowingTexts& texts, std::size_t k, const Room& room,
                           const TextRound& round);
  void pass_on(GrowingTexts& texts, std::size_t k, const layers::Tensor& rows);
  void choose_first(GrowingTexts& texts);
  /// Leaves out the classes of `suppressed`.
  void choose(GrowingTexts& texts, const layers::Tensor& rows_RW, const Room& room,
              std::span<const std::int32_t> suppressed) const;
  Classes likeliest(const layers::Tensor& rows_RW, const Room& room, int count,
                    std::span<const std::int32_t> suppressed) const;
  TextRound plan_round(const GrowingTexts& texts, std::size_t k) const;
  Room make_room(const TextRound& round, int chunk) const;
  Room room_in(layers::Scratch& scratch, const TextRound& round, int chunk) const;
  layers::Context context(const Room& room) const;
  void wait(comm::Transfer& transfer);

  StageParts stage_;
  layers::TextWriting writing_;
  Heard heard_;
  std::function<void()> progress_;
  int reader_ = 0;                // layer that reads labels
  int first_chunk_ = 0;           // its chunk
  std::vector<std::size_t> own_;  // this rank's chunks from there on, as places in stage_.chunks
  std::vector<int> listeners_;    // other ranks with such chunks, on the rank of the last layer
  std::vector<GrowingTexts> window_;
};

}  // namespace penstock::runtime
