#include "runtime/decoding/ngram_model.h"

#include <gtest/gtest.h>

#include <lm/model.hh>

#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

/// Writes KenLM's binary form of a model in ARPA's format, as its build_binary does.
void write_binary(const std::string& arpa, const std::string& to) {
  lm::ngram::Config config;
  config.show_progress = false;
  config.messages = nullptr;
  config.write_mmap = to.c_str();
  const lm::ngram::Model model(arpa.c_str(), config);
}

TEST(KenlmBinary, IsReadAlike) {
  const std::string arpa = test::source("tests/golden/ctc_beam/digits.arpa").string();
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "digits.bin";
  write_binary(arpa, path.string());
  const auto text = read_ngram_model(arpa), binary = read_ngram_model(path);
  EXPECT_EQ(binary->order(), text->order());
  EXPECT_EQ(binary->words(), text->words());
  ASSERT_GT(text->words().size(), 5u);
  NgramState of_text = text->start(), of_binary = binary->start();
  for (const std::string& word : text->words()) {
    const NgramStep a = text->step(of_text, text->number(word));
    const NgramStep b = binary->step(of_binary, binary->number(word));
    EXPECT_EQ(a.log10, b.log10) << word;
    EXPECT_EQ(text->end(a.after), binary->end(b.after));
    of_text = a.after;
    of_binary = b.after;
  }
}

}  // namespace
}  // namespace penstock::runtime
