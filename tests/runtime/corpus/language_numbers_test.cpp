#include "runtime/corpus/language_numbers.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

const std::vector<std::string> kKnown = {"en", "zh-CN", "deu_latn"};

TEST(LanguageNumber, CountsFromOne) {
  EXPECT_EQ(language_number(kKnown, ""), 0);
  EXPECT_EQ(language_number(kKnown, "en"), 1);
  EXPECT_EQ(language_number(kKnown, "deu_latn"), 3);
}

TEST(LanguageNumber, IgnoresCapitalsAndKindsOfDashes) {
  EXPECT_EQ(language_number(kKnown, "zh_cn"), 2);
  EXPECT_EQ(language_number(kKnown, "deu-Latn"), 3);
}

TEST(LanguageNumber, NamesAllThatHavePrompts) {
  EXPECT_EQ(test::message_of<DataError>([] { (void)language_number(kKnown, "zh"); }),
            "its language 'zh' has no prompt: decoder.languages = [\"en\", \"zh-CN\", "
            "\"deu_latn\"] names all that have");
}

}  // namespace
}  // namespace penstock::runtime
