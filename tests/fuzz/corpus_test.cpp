#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "tests/fuzz/readers.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::test {
namespace {

std::filesystem::path corpus_of(const ForeignReader& reader) {
  return std::filesystem::path(PENSTOCK_FUZZ_CORPUS) / reader.name;
}

class FuzzCorpus : public testing::TestWithParam<ForeignReader> {};

/// A reader answers each file of its corpus, and what is left of it after a cut.
TEST_P(FuzzCorpus, IsAnswered) {
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(corpus_of(GetParam()))) {
    const std::string bytes = read_file(file.path());
    SCOPED_TRACE(file.path().filename().string());
    EXPECT_NO_THROW(GetParam().read(bytes));
    EXPECT_NO_THROW(GetParam().read(std::string_view(bytes).substr(0, bytes.size() / 2)));
    ++files;
  }
  EXPECT_GT(files, 0) << "no corpus in " << corpus_of(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Readers, FuzzCorpus,
                         testing::ValuesIn(foreign_readers().begin(), foreign_readers().end()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(FuzzCorpora, BelongToReaders) {
  for (const auto& folder : std::filesystem::directory_iterator(PENSTOCK_FUZZ_CORPUS)) {
    const std::string name = folder.path().filename().string();
    EXPECT_TRUE(std::ranges::any_of(foreign_readers(), [&](const ForeignReader& reader) {
      return reader.name == name;
    })) << name;
  }
}

}  // namespace
}  // namespace penstock::test
