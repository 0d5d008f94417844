// This program measures a start, an epoch and steps of a corpus of millions: README.md.

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iostream>
#include <string>

#include "comm/join.h"
#include "configs/config.h"
#include "layers/losses/ctc.h"
#include "runtime/corpus/corpus.h"
#include "runtime/corpus/corpus_work.h"
#include "runtime/data/batch/epoch.h"
#include "runtime/data/batch/extent.h"
#include "runtime/data/batch/sample_hash.h"
#include "runtime/data/batch/steps.h"
#include "runtime/data/index/index.h"
#include "runtime/job/consistency.h"
#include "runtime/text/alphabet.h"
#include "tests/support/system/resident_memory.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kNumberAt = 19;  // of "speech/0123/number-00012345.wav"

runtime::AudioLength length_of(std::uint64_t utterance) {
  const std::uint64_t bits = runtime::sample_hash(runtime::SampleKind::order, 21, {utterance});
  return {16000 + static_cast<std::int64_t>(bits % (15 * 16000)), 16000};
}

/// About 12 letters a second.
std::string text_of(std::uint64_t utterance) {
  std::string text;
  const auto letters = static_cast<std::size_t>(12 * length_of(utterance).seconds());
  std::uint64_t bits = utterance;
  while (text.size() < letters) {
    bits = runtime::sample_hash(runtime::SampleKind::speed, 22, {bits});
    text += text.size() % 6 == 5 ? ' ' : static_cast<char>('a' + bits % 26);
  }
  return text;
}

std::string path_of(std::uint64_t utterance) {
  return fmt::format("speech/{:04}/number-{:08}.wav", utterance / 1000 % 10000, utterance);
}

/// Since it was made: of the clock, and of this process's threads.
class Watch {
 public:
  std::string told() const {
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    return fmt::format("{:7.2f} s, {:7.2f} s of a core", seconds,
                       static_cast<double>(std::clock() - cpu_) / CLOCKS_PER_SEC);
  }

 private:
  Clock::time_point start_ = Clock::now();
  std::clock_t cpu_ = std::clock();
};

/// Returns a row of /proc/self/smaps_rollup, in MB.
double memory(const std::string& key) {
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key + ":")) return std::stod(line.substr(key.size() + 1)) / 1000;
  return 0;
}

void report(int rank, const std::string& what, const Watch& watch) {
  std::cout << fmt::format(
                   "rank {}: {:<44} {}; {:5.0f} MB of its own, {:5.0f} MB with its share of files; "
                   "peak {:5.0f} MB\n",
                   rank, what, watch.told(), memory("Anonymous"), memory("Pss"),
                   static_cast<double>(peak_resident()) / 1e6)
            << std::flush;
}

/// A manifest of recordings that are not there, and its index, as if they had been measured.
int make(const fs::path& folder, std::uint64_t utterances) {
  fs::create_directories(folder);
  const auto manifest = folder / "train.jsonl";
  const Watch writing;
  {
    std::ofstream out(manifest);
    for (std::uint64_t u = 0; u < utterances; ++u)
      out << fmt::format("{{\"audio_filepath\": \"{}\", \"duration\": {:.3f}, \"text\": \"{}\"}}\n",
                         path_of(u), length_of(u).seconds(), text_of(u));
  }
  report(0, "the manifest is written", writing);
  const Watch indexing;
  (void)runtime::find_index(
      {.manifest = manifest, .beside = true}, [](std::span<const runtime::RecordingQuery> queries) {
        runtime::RecordingAnswers answers;
        for (const runtime::RecordingQuery& query : queries) {
          const std::uint64_t utterance = std::stoull(query.path.substr(kNumberAt));
          answers.push_back(runtime::RecordingAnswer{
              .stamp = {1000, 1}, .length = runtime::PackedLength(length_of(utterance))});
        }
        return answers;
      });
  report(0, "it is indexed, without opening recordings", indexing);
  std::cout << fmt::format("manifest {:.2f} GB, index {:.2f} GB\n",
                           static_cast<double>(fs::file_size(manifest)) / 1e9,
                           static_cast<double>(fs::file_size(folder / "train.jsonl.index")) / 1e9);
  return 0;
}

runtime::CorpusOptions options_of(const fs::path& folder) {
  runtime::CorpusOptions options;
  options.manifest = folder / "train.jsonl";
  options.cache.path = folder / "cache";
  options.data.speeds = {0.9, 1, 1.1};
  options.data.min_seconds = 1.01;  // some are left out
  options.data.micro_batch_seconds = 160;
  options.data.micro_batches = 16;
  options.threads = 0;
  options.labels_key = "large_corpus";
  options.loss = layers::ctc_loss();
  options.output_frames = [](std::int64_t frames) { return (frames + 1) / 2; };
  return options;
}

/// One rank of a job: the last one reads texts, the first one audio.
void start(const fs::path& folder, comm::Communicator& world) {
  const int rank = world.rank();
  const runtime::CorpusOptions options = options_of(folder);
  const runtime::Alphabet alphabet(configs::TextConfig{});
  const Watch since;
  const runtime::Corpus corpus =
      runtime::load_corpus(options, alphabet, world, {{world.size() - 1}, {0}});
  report(rank, fmt::format("{} utterances are known", corpus.size()), since);
  runtime::StepSequence steps({corpus.lengths, options.data, options.features, 7, 2});
  runtime::share_epoch(world, steps, 0);
  const runtime::WorkExtent extent = runtime::greatest_extent(steps.options());
  const auto longest = steps.longest(8);
  report(rank, fmt::format("the largest of {} micro-batches is known", extent.micro_batches),
         since);
  (void)steps.at(0);
  report(rank, "the first step may begin", since);

  const bool texts = corpus.labels != nullptr;
  const auto run = [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t step = first; step < end; ++step)
      (void)runtime::training_work(steps.at(step), corpus, 7, {0, 1}, texts);
  };
  const Watch running;
  run(0, 1000);
  report(rank, texts ? "1000 steps with labels" : "1000 steps", running);
  const std::int64_t whole = steps.steps_in_epoch(0);
  const Watch forming;
  (void)runtime::Epoch(corpus.lengths, options.data, options.features, {7, 1});
  report(rank, fmt::format("an epoch of {} steps is formed", whole), forming);
  const std::int64_t before = steps.epochs_formed();
  run(whole / 2 + 1, whole / 2 + 10);
  for (int wait = 0; wait < 60 && steps.epochs_formed() == before; ++wait) ::sleep(1);
  run(whole - 3, whole);
  const Watch crossing;
  (void)steps.at(whole);
  report(rank, "the first step of the next epoch", crossing);
  std::cout << fmt::format("rank {}: {} epochs were formed for the steps\n", rank,
                           steps.epochs_formed());
}

/// Ranks as processes, which meet in a folder.
int start_ranks(const fs::path& folder, int ranks) {
  const TemporaryFolder meeting;
  for (int rank = 0; rank < ranks; ++rank) {
    if (::fork() != 0) continue;
    const auto world = comm::join_files({meeting.path(), rank, ranks});
    start(folder, *world);
    std::cout.flush();
    ::_exit(0);
  }
  int worst = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    int status = 0;
    ::wait(&status);
    worst = std::max(worst, status);
  }
  return worst == 0 ? 0 : 1;
}

}  // namespace
}  // namespace penstock::test

int main(int argc, char** argv) {
  const std::string what = argc == 4 ? argv[1] : "";
  if (what == "make") return penstock::test::make(argv[2], std::stoull(argv[3]));
  if (what == "start") return penstock::test::start_ranks(argv[2], std::stoi(argv[3]));
  std::cerr << "usage: large_corpus make FOLDER UTTERANCES\n"
               "       large_corpus start FOLDER RANKS\n";
  return 2;
}
