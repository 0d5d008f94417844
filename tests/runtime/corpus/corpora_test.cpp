#include "runtime/corpus/corpora.h"

#include <gtest/gtest.h>

namespace penstock::runtime {
namespace {

/// Three stages of two replicas: rank = 3 · replica + stage.
CorpusReaders readers_for(const std::string& schedule) {
  configs::Config config;
  config.pipeline.stages = 3;
  config.pipeline.replicas = 2;
  config.pipeline.schedule = schedule;
  return corpus_readers(config, {});
}

TEST(CorpusReaders, AreTheFirstStageAndTheLosses) {
  for (const char* schedule : {"1f1b", "interleaved-3"}) {
    EXPECT_EQ(readers_for(schedule).texts, (std::vector{2, 5}));
    EXPECT_EQ(readers_for(schedule).audio, (std::vector{0, 3}));
  }
  EXPECT_EQ(readers_for("dualpipe-v").texts, (std::vector{0, 3}));
  EXPECT_EQ(readers_for("dualpipe-v").audio, (std::vector{0, 3}));
}

TEST(CorpusReaders, AreBothEndsWhileListsAreSought) {
  EXPECT_EQ(readers_for("found").texts, (std::vector{2, 5, 0, 3}));
  EXPECT_EQ(readers_for("found").audio, (std::vector{0, 3}));
}

}  // namespace
}  // namespace penstock::runtime
