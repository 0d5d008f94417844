#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "configs/config.h"
#include "layers/models/families.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/corpus/corpora.h"
#include "runtime/trainer/evaluation.h"

namespace penstock::runtime {

/// Where a trained model comes from, on how many ranks it works, and what of its recipe to change
/// for now.
struct Trained {
  std::filesystem::path checkpoint;  // a checkpoint's folder, or an output folder: its newest
  int threads = 1;                   // of a rank
  std::string compute = {};          // number format of the layers; empty: the checkpoint's
  std::vector<layers::ModelFamily> families = layers::model_families();  // that its model may be of
  Verified verified = Verified::all;  // of the checkpoint, by all ranks together
  int replicas = 1;                   // each of ranks / replicas stages
};

/// Whether there are texts to compare with what is recognised.
enum class Judging { none, by_texts };

/// A checkpoint's model on the ranks of a job. Stages are cut by computed costs: recognition is
/// short, measuring would not pay.
class Recogniser {
 public:
  /// Opens the checkpoint. CheckpointError if any shard is damaged (of what is verified);
  /// ConfigError if the replicas do not divide the ranks, or there are more stages than layers. All
  /// ranks make theirs; `world` must outlive it.
  Recogniser(const Trained& trained, comm::Communicator& world, Judging judging);

  comm::Communicator& world() const { return world_; }
  const configs::Config& config() const { return config_; }
  const partition::LayerSequence& sequence() const { return sequence_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const CorpusReaders& readers() const { return readers_; }
  std::int64_t step() const { return checkpoint_.state().step; }
  /// Equal for equal checkpoints that compute in equal formats.
  std::string identity() const;

  /// As evaluate(), by stages that the first call makes, for utterances such as its own. All ranks
  /// call it, with a corpus that is not empty.
  [[nodiscard]] Evaluation evaluate(const Corpus& corpus, EvaluationOptions options = {});

 private:
  void make_session(const Corpus& corpus);

  comm::Communicator& world_;
  Judging judging_;
  Checkpoint checkpoint_;
  configs::Config config_;
  std::unique_ptr<const Tokenizer> tokenizer_;
  partition::LayerSequence sequence_;
  CorpusReaders readers_;
  std::unique_ptr<Session> session_;
};

}  // namespace penstock::runtime
