#include "runtime/decoding/ngram_model.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

class NgramModelFile : public testing::Test {
 protected:
  void SetUp() override {
    if (!reads_ngram_models()) GTEST_SKIP() << "No KenLM: tools/kenlm has not built it";
  }
  std::string refusal(const std::string& text) const {
    const auto path = written(text);
    return test::message_of<ConfigError>([&] { (void)read_ngram_model(path); });
  }
  std::filesystem::path written(const std::string& text) const {
    test::write_file(folder_.path() / "model.arpa", text);
    return folder_.path() / "model.arpa";
  }

  test::TemporaryFolder folder_;
};

constexpr const char* kArpa = R"(\data\
ngram 1=5
ngram 2=2

\1-grams:
-1.5	<unk>
-99	<s>	-0.5
-0.9	</s>
-0.7	one	-0.25
-0.6	two	-0.125

\2-grams:
-0.2	<s> one
-0.3	one two

\end\
)";

TEST_F(NgramModelFile, GivesProbabilitiesOfTheFile) {
  const auto model = read_ngram_model(written(kArpa));
  EXPECT_EQ(model->order(), 2);
  std::vector<std::string> words = model->words();
  std::ranges::sort(words);
  EXPECT_EQ(words, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(model->number("three"), NgramModel::kUnknown);
  const NgramStep one = model->step(model->start(), model->number("one"));
  EXPECT_FLOAT_EQ(static_cast<float>(one.log10), -0.2f);
  const NgramStep two = model->step(one.after, model->number("two"));
  EXPECT_FLOAT_EQ(static_cast<float>(two.log10), -0.3f);
  EXPECT_FLOAT_EQ(static_cast<float>(model->end(two.after)), -0.125f - 0.9f);
  const NgramStep unknown = model->step(one.after, NgramModel::kUnknown);
  EXPECT_FLOAT_EQ(static_cast<float>(unknown.log10), -0.25f - 1.5f);
}

/// Words that a file gives no probability stay comparable.
TEST_F(NgramModelFile, BoundsProbabilities) {
  std::string arpa = kArpa;
  for (const char* least : {"-inf", "-1e30"}) {
    arpa.replace(arpa.find("\n-0.3\t") + 1, 4, least);
    const auto model = read_ngram_model(written(arpa));
    const NgramStep one = model->step(model->start(), model->number("one"));
    EXPECT_EQ(model->step(one.after, model->number("two")).log10, -100);
    arpa = kArpa;
  }
}

TEST_F(NgramModelFile, RefusesOtherFiles) {
  EXPECT_NE(refusal("no model\n").find("KenLM can't read it"), std::string::npos);
  EXPECT_NE(refusal("\x1f\x8b\x08").find("gunzip"), std::string::npos);
  EXPECT_NE(refusal("").find("--lm"), std::string::npos);
  EXPECT_NE(test::message_of<ConfigError>([&] {
              (void)read_ngram_model(folder_.path() / "absent.arpa");
            }).find("--lm: "),
            std::string::npos);
}

// A penstock without KenLM says how to get it.
TEST(NgramModelWithoutKenlm, IsRefused) {
  if (reads_ngram_models()) GTEST_SKIP() << "KenLM is there";
  EXPECT_NE(test::message_of<ConfigError>([] {
              (void)read_ngram_model("model.arpa");
            }).find("tools/kenlm"),
            std::string::npos);
}

}  // namespace
}  // namespace penstock::runtime
