#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <vector>

#include "layers/losses/loss.h"
#include "layers/nn/text_reader.h"
#include "layers/scratch.h"
#include "runtime/pipeline/chunk.h"
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

/// Writes texts greedily with a decoder that predicts each label from those before it
/// (layers::TextWriting), over the stages of a pipeline.
///
/// An evaluation first runs the known rows of a window of micro-batches forward, as for any model,
/// and layers keep keys and values of the rows before the texts (ExecutorCallbacks::caches). Then
/// the texts grow by a label a round. The rank with the last layer takes the likeliest class, the
/// lower one of equals, and sends it to the ranks of the decoder's layers; each runs a row for each
/// text that has not ended, and passes it on as it passes activations. A window has as many
/// micro-batches as the model has chunks, so that all ranks have work.
///
/// A text ends with TextWriting::eos, or after partition::most_written() labels.
class TextGeneration {
 public:
  /// Receives the labels of each utterance of a micro-batch, without eos, on the last layer's rank.
  using Heard = std::function<void(const MicroBatchWork&, std::vector<std::vector<std::int32_t>>)>;

  /// `progress` is called after every round of labels, and may be empty.
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
  /// Writes the window's texts to their ends.
  void write();

 private:
  struct Texts;
  struct Round;
  struct Room;

  bool writes() const { return !own_.empty(); }
  bool last() const { return stage_.chunk_ranks.back() == stage_.pipeline.rank(); }
  bool is_last(int chunk) const { return chunk + 1 == std::ssize(stage_.chunk_ranks); }
  /// Return the layer that reads labels, its parameters, and those of the loss. Only for ranks that
  /// hold them.
  std::size_t local_reader() const;
  const layers::TextReader& reader() const;
  layers::Params table() const;
  layers::Params head() const;

  Texts make_texts(const MicroBatchWork& work, int buffer) const;
  void learn(Texts& texts);
  void run_chunk(Texts& texts, std::size_t k);
  layers::Tensor take_rows(Texts& texts, std::size_t k, const Room& room, const Round& round);
  void pass_on(Texts& texts, std::size_t k, const layers::Tensor& rows);
  void choose_first(Texts& texts);
  void choose(Texts& texts, const layers::Tensor& rows_RW, const Room& room) const;
  Round plan_round(const Texts& texts, std::size_t k) const;
  Room make_room(const Round& round, int chunk) const;
  Room room_in(layers::Scratch& scratch, const Round& round, int chunk) const;
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
  std::vector<Texts> window_;
};

}  // namespace penstock::runtime
