#include "runtime/data/audio/loader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "base/error.h"
#include "runtime/data/audio/features.h"
#include "runtime/data/audio/resample.h"
#include "runtime/data/augment/spec_augment.h"
#include "tests/support/runtime/sounds.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

class LoaderTest : public testing::Test {
 protected:
  void SetUp() override {
    features_.sample_rate = 8000;
    unsigned seed = 0;
    for (const std::int64_t samples : {4001, 333, 7777, 1, 2500, 1200}) {
      const auto file = folder_.path() / fmt::format("{}.wav", samples);
      const int rate = samples % 2 == 0 ? 16000 : 8000;
      test::write_sound(file, test::make_sound(samples, ++seed), {0x010006, rate});
      sources_.push_back({file, {samples, rate}});
    }
  }

  MicroBatch batch(std::initializer_list<std::pair<std::uint64_t, double>> utterances) const {
    MicroBatch result;
    for (const auto& [id, speed] : utterances)
      result.utterances.push_back(shape_utterance(id, sources_[id].length, speed, features_));
    return result;
  }
  std::vector<MicroBatch> batches() const {
    return {batch({{0, 1}, {1, 0.9}, {2, 1.1}}), batch({{3, 1}}), batch({{5, 1.1}, {4, 0.9}}),
            batch({{2, 1}, {0, 0.9}})};
  }

  /// Features of one utterance, made plainly.
  std::vector<float> expected(const BatchUtterance& utterance) const {
    const Audio audio = read_audio(sources_[utterance.id].audio);
    std::vector<float> samples(static_cast<std::size_t>(utterance.samples));
    resample(audio.samples, resampling(audio.rate, 8000, utterance.speed), samples);
    std::vector<float> x_FC(static_cast<std::size_t>(utterance.frames * 81));
    FeatureExtractor(features_).extract(samples, x_FC);
    return x_FC;
  }

  AudioSources sources() const {
    return [of = sources_](std::uint64_t id) { return of.at(id); };
  }

  test::TemporaryFolder folder_;
  configs::FeatureConfig features_;
  std::vector<AudioSource> sources_;
};

TEST_F(LoaderTest, KeepsOrderForAnyThreadsAndBufferSize) {
  for (const int threads : {1, 2, 5})
    for (const std::int64_t bytes : {std::int64_t{1}, std::int64_t{40000}, std::int64_t{1} << 30}) {
      FeatureLoader loader(sources(), features_, {threads, bytes});
      for (const MicroBatch& batch : batches()) loader.push(0, batch);
      for (const MicroBatch& batch : batches()) {
        const LoadedBatch loaded = loader.take();
        std::vector<float> x_FC;
        ASSERT_EQ(loaded.lengths.size(), batch.utterances.size());
        for (std::size_t u = 0; u < batch.utterances.size(); ++u) {
          const std::vector<float> one = expected(batch.utterances[u]);
          x_FC.insert(x_FC.end(), one.begin(), one.end());
          EXPECT_EQ(loaded.lengths[u], batch.utterances[u].frames);
          EXPECT_EQ(loaded.weights[u], 1);
        }
        EXPECT_EQ(loaded.x_FC, x_FC);
      }
      EXPECT_EQ(loader.failed(), 0);
    }
}

/// Each utterance is augmented by its epoch, place in the corpus and repeat alone.
TEST_F(LoaderTest, AugmentsByTheDrawAlone) {
  const Augmentation augmentation{{.freq_masks = 2, .time_masks = 2, .time_warp = 3}, 17};
  SpecAugment augment(augmentation.config, features_, 17);
  for (const int threads : {1, 3}) {
    FeatureLoader loader(sources(), features_, {.threads = threads, .augmentation = augmentation});
    for (const std::int64_t epoch : {2, 7})
      for (const MicroBatch& batch : batches()) loader.push(epoch, batch);
    for (const std::int64_t epoch : {2, 7})
      for (const MicroBatch& batch : batches()) {
        const LoadedBatch loaded = loader.take();
        std::vector<float> x_FC;
        for (const BatchUtterance& utterance : batch.utterances) {
          std::vector<float> one = expected(utterance);
          augment.apply({epoch, utterance.id, utterance.repeat}, one);
          x_FC.insert(x_FC.end(), one.begin(), one.end());
        }
        EXPECT_EQ(loaded.x_FC, x_FC);
      }
  }
}

/// Threads of this process of that niceness.
int threads_at(int niceness) {
  int count = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task"))
    count += getpriority(PRIO_PROCESS, std::stoi(thread.path().filename())) == niceness;
  return count;
}

TEST_F(LoaderTest, ThreadsStepBackForThoseThatCompute) {
  const FeatureLoader loader(sources(), features_, {2, 40000});
  const int stepped_back = std::min(getpriority(PRIO_PROCESS, 0) + 10, 19);
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::seconds(10);  // threads have yet to begin
  while (threads_at(stepped_back) < 2 && Clock::now() < end) std::this_thread::yield();
  EXPECT_GE(threads_at(stepped_back), 2);
}

TEST_F(LoaderTest, MayBeLeftWithWorkToDo) {
  FeatureLoader loader(sources(), features_, {2, 1 << 20});
  for (int i = 0; i < 20; ++i)
    for (const MicroBatch& batch : batches()) loader.push(0, batch);
  loader.take();
}

/// A segment's features are those of a file that holds its samples alone.
TEST_F(LoaderTest, SegmentsAreAsFilesOfTheirOwn) {
  const auto cut = folder_.path() / "cut.wav";
  std::vector<float> samples = test::make_sound(7777, 3);
  samples = {samples.begin() + 1234, samples.begin() + 1234 + 3001};
  test::write_sound(cut, samples, {0x010006, 8000});
  sources_.push_back({cut, {3001, 8000}});
  sources_.push_back({sources_[2].audio, {3001, 8000}, 1234});
  FeatureLoader loader(sources(), features_, {2, 1 << 20});
  loader.push(0, batch({{6, 1.1}}));
  loader.push(0, batch({{7, 1.1}}));
  EXPECT_EQ(loader.take().x_FC, loader.take().x_FC);
  EXPECT_EQ(loader.failed(), 0);
}

TEST_F(LoaderTest, AnEmptyMicroBatchIsEmpty) {
  FeatureLoader loader(sources(), features_, {1, 1 << 20});
  loader.push(0, {});
  EXPECT_TRUE(loader.take().x_FC.empty());
}

TEST_F(LoaderTest, FailedAudioBecomesSilenceWithoutWeight) {
  FeatureLoader loader(sources(), features_, {2, 1 << 20});
  std::filesystem::remove(sources_[1].audio);
  test::write_sound(sources_[2].audio, test::make_sound(7776), {0x010006, 8000});
  loader.push(0, batches()[0]);
  const LoadedBatch loaded = loader.take();
  EXPECT_EQ(loaded.weights, (std::vector<float>{1, 0, 0}));
  const auto first = static_cast<std::size_t>(loaded.lengths[0] * 81);
  EXPECT_NE(loaded.x_FC[0], 0);
  for (std::size_t i = first; i < loaded.x_FC.size(); ++i) ASSERT_EQ(loaded.x_FC[i], 0);
  EXPECT_EQ(loader.failed(), 2);
}

TEST_F(LoaderTest, TellsTheFailuresOfEachEpoch) {
  FeatureLoader loader(sources(), features_, {2, 1 << 20});
  for (const std::size_t id : {1, 2, 5}) std::filesystem::remove(sources_[id].audio);
  loader.push(0, batches()[0]);
  loader.push(1, batches()[0]);
  loader.push(1, batches()[2]);
  const auto ids = [&] {
    std::vector<std::uint64_t> ids;
    for (const FailedUtterance& utterance : loader.failures()) ids.push_back(utterance.id);
    return ids;
  };
  loader.take();
  EXPECT_EQ(ids(), (std::vector<std::uint64_t>{1, 2}));
  loader.take();
  EXPECT_EQ(ids(), (std::vector<std::uint64_t>{1, 2}));
  loader.take();
  EXPECT_EQ(ids(), (std::vector<std::uint64_t>{1, 2, 5}));
  EXPECT_EQ(loader.failed(), 5);
  EXPECT_NE(loader.failures().front().why.find("333.wav: no such file"), std::string::npos);
}

TEST_F(LoaderTest, TakingWhatWasNotPushedThrows) {
  FeatureLoader loader(sources(), features_, {1, 1 << 20});
  EXPECT_THROW(loader.take(), Error);
}

}  // namespace
}  // namespace penstock::runtime
