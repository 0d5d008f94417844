#include "runtime/text/tokenizer.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

TEST(Tokenizer, KindIsTheRecipes) {
  configs::TextConfig config;
  EXPECT_EQ(make_tokenizer(config)->labels(), 29);
  EXPECT_EQ(make_tokenizer(config)->model(), "");
  config.kind = "sentencepiece";
  config.model = test::source("tests/golden/pieces/bpe.model");
  EXPECT_EQ(make_tokenizer(config)->labels(), 91);
  EXPECT_NE(make_tokenizer(config)->model(), "");
  config.kind = "words";
  EXPECT_THROW((void)make_tokenizer(config), ConfigError);
}

}  // namespace
}  // namespace penstock::runtime
