// feature_speed THREADS [SECONDS]: how many seconds of audio so many loaders read a second. They
// make log-mel features of recordings of 8 s at 16 kHz in WAV, which the system has cached, in
// micro-batches of 16 one after the other, for so many seconds [4].

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/data/audio/features.h"
#include "runtime/data/audio/loader.h"
#include "tests/support/runtime/sounds.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::tools {
namespace {

constexpr int kRecordings = 64, kTogether = 16, kAhead = 4, kRate = 16000, kSeconds = 8;

double audio_seconds_a_second(int threads, double seconds) {
  const test::TemporaryFolder folder;
  const auto path = [&](std::uint64_t id) { return folder.path() / fmt::format("{}.wav", id); };
  const std::int64_t samples = kRate * kSeconds;
  for (int id = 0; id < kRecordings; ++id)
    if (!test::write_sound(path(id), test::make_sound(samples, id)))
      throw std::runtime_error("libsndfile writes no WAV");
  const configs::FeatureConfig features;
  const runtime::AudioSources sources = [&](std::uint64_t id) {
    return runtime::AudioSource{path(id), {samples, kRate}};
  };
  runtime::FeatureLoader loader(sources, features, {.threads = threads});
  std::uint64_t next = 0;
  const auto push = [&] {
    runtime::MicroBatch batch;
    for (int i = 0; i < kTogether; ++i)
      batch.utterances.push_back({.id = next++ % kRecordings,
                                  .samples = samples,
                                  .frames = runtime::feature_frames(samples, features)});
    loader.push(0, batch);
  };
  for (int i = 0; i < kAhead; ++i) push();
  (void)loader.take();
  push();
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  double audio = 0;
  while (elapsed() < seconds) {
    (void)loader.take();
    push();
    audio += kTogether * kSeconds;
  }
  return audio / elapsed();
}

}  // namespace
}  // namespace penstock::tools

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::cerr << "usage: feature_speed THREADS [SECONDS]\n";
    return 2;
  }
  const int threads = std::stoi(argv[1]);
  std::cout << fmt::format("{:.0f}\n", penstock::tools::audio_seconds_a_second(
                                           threads, argc == 3 ? std::stod(argv[2]) : 4));
}
