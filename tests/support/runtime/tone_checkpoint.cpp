#include "tests/support/runtime/tone_checkpoint.h"

#include "comm/threads.h"
#include "configs/load.h"
#include "layers/models/families.h"
#include "runtime/trainer/trainer.h"
#include "tests/support/runtime/tone_corpus.h"

namespace penstock::test {

std::vector<std::string> Transcribed::texts() const {
  std::vector<std::string> texts;
  for (const runtime::Transcript& transcript : transcripts) texts.push_back(transcript.text);
  return texts;
}

std::vector<std::string> Transcribed::faults() const {
  std::vector<std::string> faults;
  for (const runtime::Transcript& transcript : transcripts) faults.push_back(transcript.fault);
  return faults;
}

ToneCheckpoint::ToneCheckpoint(const std::vector<std::string>& overrides) {
  write_tone_corpus(in("train.jsonl"), 9, 1);
  write_tone_corpus(in("test.jsonl"), 7, 2);
  const configs::Config config =
      configs::parse_config(tone_recipe(in("train.jsonl"), "", in("output")), "recipe.toml",
                            layers::model_families(), overrides);
  comm::run_as_threads(
      {.ranks = 1}, [&](comm::Communicator& world) { (void)runtime::train({config}, world, {}); });
}

Transcribed ToneCheckpoint::transcribe(const std::vector<runtime::Recording>& recordings,
                                       const RecognitionLayout& layout, runtime::Transcription list,
                                       runtime::Trained trained) const {
  Transcribed found;
  std::size_t next = 0;
  if (!list.next)
    list.next = [&]() -> std::optional<runtime::Recording> {
      if (next == recordings.size()) return std::nullopt;
      return recordings[next++];
    };
  list.take = [&](std::span<const runtime::Transcript> window) {
    found.windows.push_back(window.size());
    found.transcripts.insert(found.transcripts.end(), window.begin(), window.end());
  };
  trained.checkpoint = in("output");
  trained.replicas = layout.replicas;
  comm::run_as_threads({.ranks = layout.ranks}, [&](comm::Communicator& world) {
    const runtime::TranscriptionCounts counts = runtime::transcribe(trained, list, world);
    if (world.rank() == 0) found.counts = counts;
  });
  return found;
}

Judged ToneCheckpoint::evaluate(const runtime::TestSet& test, const RecognitionLayout& layout,
                                runtime::Trained trained) const {
  Judged found;
  runtime::EvaluationObserver observer;
  observer.take = [&](std::span<const runtime::JudgedUtterance> judged, const auto&) {
    for (const runtime::JudgedUtterance& utterance : judged)
      found.utterances.push_back(utterance.recognised);
  };
  trained.checkpoint = in("output");
  trained.replicas = layout.replicas;
  comm::run_as_threads({.ranks = layout.ranks}, [&](comm::Communicator& world) {
    const auto totals = runtime::evaluate_checkpoint(trained, test, world, observer);
    if (world.rank() == 0) found.totals = totals;
  });
  return found;
}

}  // namespace penstock::test
