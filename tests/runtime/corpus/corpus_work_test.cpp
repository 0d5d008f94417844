#include "runtime/corpus/corpus_work.h"

#include <gtest/gtest.h>

namespace penstock::runtime {
namespace {

Corpus five_utterances() {
  Corpus corpus;
  corpus.labels = [](std::uint64_t id) {
    const std::vector<std::vector<std::int32_t>> labels = {{1, 2}, {3}, {}, {4, 4, 5}, {6}};
    return labels.at(id);
  };
  return corpus;
}

MicroBatch batch(std::vector<std::uint64_t> ids) {
  MicroBatch batch;
  for (std::uint64_t id : ids)
    batch.utterances.push_back({id, 1, 800, static_cast<std::int64_t>(10 + id)});
  return batch;
}

StepBatches step() { return {3, 1, {batch({3, 0}), batch({2}), batch({4, 1})}, {1, 0, 1}, 5}; }

TEST(CorpusWork, ReplicasGetTheirLanesInTheirPlaces) {
  const StepWork work = training_work(step(), five_utterances(), 7, {1, 2}, true);
  EXPECT_EQ(work.seed, 7u);
  EXPECT_EQ(work.epoch, 3u);
  EXPECT_EQ(work.scale, 1.0 / 5);
  EXPECT_EQ(work.global_micro_batches, 3);
  ASSERT_EQ(work.micro_batches.size(), 2u);
  EXPECT_EQ(work.micro_batches[0].place, 0);
  EXPECT_EQ(work.micro_batches[1].place, 2);
  EXPECT_EQ(work.micro_batches[1].lane, 0);  // the replica's first
  EXPECT_EQ(work.micro_batches[0].lengths, (std::vector<std::int64_t>{13, 10}));
  EXPECT_EQ(work.micro_batches[0].labels, (std::vector<std::int32_t>{4, 4, 5, 1, 2}));
  EXPECT_EQ(work.micro_batches[0].label_lengths, (std::vector<std::int32_t>{3, 2}));
}

TEST(CorpusWork, LabelsStayAwayWhereNoLayerReadsThem) {
  const StepWork work = training_work(step(), five_utterances(), 7, {0, 2}, false);
  for (const MicroBatchWork& m : work.micro_batches) EXPECT_TRUE(m.label_lengths.empty());
}

// A decoder that is to write texts needs their prompts without their labels.
TEST(CorpusWork, PromptsComeWithoutLabelsToo) {
  Corpus corpus = five_utterances();
  corpus.prompt = [](std::uint64_t id) { return static_cast<std::int32_t>(id % 3); };
  for (const bool with_labels : {false, true}) {
    const StepWork work = training_work(step(), corpus, 7, {0, 2}, with_labels);
    EXPECT_EQ(work.micro_batches[0].prompts, (std::vector<std::int32_t>{0, 0}));
    EXPECT_EQ(work.micro_batches[1].prompts, (std::vector<std::int32_t>{2}));
    EXPECT_EQ(work.micro_batches[2].prompts, (std::vector<std::int32_t>{1, 1}));
  }
}

TEST(CorpusWork, EvaluationIsDealtInTurns) {
  const std::vector<MicroBatch> batches = step().micro_batches;
  const StepWork work = evaluation_work(batches, five_utterances(), 1, 2, true);
  ASSERT_EQ(work.micro_batches.size(), 1u);
  EXPECT_EQ(work.micro_batches[0].place, 1);
  EXPECT_EQ(batches_of(work, batches), std::vector<MicroBatch>{batches[1]});
}

}  // namespace
}  // namespace penstock::runtime
