#include "tests/support/runtime/runs_from_source.h"

#include "comm/threads.h"
#include "configs/load.h"
#include "layers/models/families.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "tests/support/runtime/tone_corpus.h"

namespace penstock::test {

using runtime::Checkpoint;
using runtime::CheckpointTensor;

RunsFromSource::RunsFromSource() {
  write_tone_corpus(in("train.jsonl"), 9, 1);
  run("source", {"trainer.seed=7", "trainer.init="});
}

runtime::TrainingSummary RunsFromSource::run(const std::string& output, const Overrides& overrides,
                                             int ranks) {
  Overrides all = {"trainer.steps=2", "data.validation=", "trainer.init=" + in("source")};
  all.insert(all.end(), overrides.begin(), overrides.end());
  const configs::Config config = configs::parse_config(
      tone_recipe(in("train.jsonl"), "", in(output)), "recipe.toml", layers::model_families(), all);
  runtime::TrainingSummary summary;
  runtime::TrainingObserver observer;
  notes_.clear();
  observer.note = [this](const std::string& note) { notes_ += note + "\n"; };
  comm::run_as_threads({.ranks = ranks}, [&](comm::Communicator& world) {
    const runtime::TrainingSummary own = runtime::train({config}, world, observer);
    if (world.rank() == 0) summary = own;
  });
  return summary;
}

std::string RunsFromSource::start(const std::string& output, Overrides overrides, int ranks) {
  overrides.insert(overrides.end(), {"trainer.steps=1", "optimizer.learning_rate=1e-30"});
  run(output, overrides, ranks);
  return in(output);
}

RunsFromSource::Bytes RunsFromSource::tensor(const std::filesystem::path& output,
                                             const std::string& name) {
  const Checkpoint checkpoint = runtime::open_checkpoint(output);
  const CheckpointTensor& stored = checkpoint.tensor(name);
  const std::int64_t elements = layers::element_count(stored.shape);
  Bytes bytes(static_cast<std::size_t>(elements) * layers::size_of(stored.dtype));
  checkpoint.read(name, 0, elements, bytes);
  return bytes;
}

std::vector<std::vector<float>> RunsFromSource::rows(const std::filesystem::path& output,
                                                     const std::string& name) {
  const Checkpoint checkpoint = runtime::open_checkpoint(output);
  const std::string source = runtime::model_tensor(checkpoint, name);
  const layers::Shape& shape = checkpoint.tensor(source).shape;
  const std::int64_t size = layers::element_count(shape) / shape.front();
  std::vector<std::vector<float>> rows(static_cast<std::size_t>(shape.front()));
  for (std::int64_t begin = 0; std::vector<float> & row : rows) {
    row.resize(static_cast<std::size_t>(size));
    runtime::read_floats(checkpoint, source, begin, row);
    begin += size;
  }
  return rows;
}

}  // namespace penstock::test
