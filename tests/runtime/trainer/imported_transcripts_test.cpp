#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

#include "comm/threads.h"
#include "runtime/huggingface/import.h"
#include "runtime/recognise/transcribe.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

const std::string kGolden = "tests/golden/imported_transcripts/";

// From audio to transcript; imported_transcripts.py says what transformers writes.
TEST(ImportedTranscripts, AreThoseOfTransformers) {
  const test::TemporaryFolder output;
  for (const std::string kind : {"parakeet", "parakeet_rnnt", "parakeet_tdt", "wav2vec2"}) {
    const auto imported = output.path() / kind;
    import_model(test::source(kGolden + kind), imported);
    std::vector<std::string> texts;
    int asked = 0;
    Transcription list;
    list.next = [&]() -> std::optional<Recording> {
      if (asked == 3) return std::nullopt;
      return Recording{test::source(fmt::format("{}{}.wav", kGolden, ++asked))};
    };
    list.take = [&](std::span<const Transcript> window) {
      for (const Transcript& transcript : window) texts.push_back(transcript.text);
    };
    comm::run_as_threads({.ranks = 1}, [&](comm::Communicator& world) {
      (void)transcribe({imported}, list, world);
    });
    std::istringstream expected(test::read_file(test::source(kGolden + kind + "/transcripts.txt")));
    ASSERT_EQ(texts.size(), 3u);
    for (const std::string& text : texts) {
      std::string line;
      std::getline(expected, line);
      EXPECT_EQ(text, line) << kind;
      EXPECT_GT(line.size(), 5u);
    }
  }
}

}  // namespace
}  // namespace penstock::runtime
