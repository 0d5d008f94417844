#include "tools/reports/training/data_shares.h"

#include <gtest/gtest.h>

#include "configs/flatten.h"
#include "configs/load.h"
#include "layers/models/families.h"
#include "tests/support/runtime/tone_corpus.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::tools {
namespace {

class DataShares : public testing::Test {
 protected:
  DataShares() {
    test::write_tone_corpus(in("a.jsonl"), 5, 1);
    test::write_tone_corpus(in("b.jsonl"), 15, 2);
    test::write_file(in("recipe.toml"), test::tone_recipe(in("a.jsonl"), "", in("output")));
  }
  std::string in(const std::string& name) const { return folder_.path() / name; }
  std::vector<DataShare> shares(std::vector<std::string> overrides) const {
    overrides.push_back("data.cache=" + in("cache"));
    runtime::TrainingState state;
    state.config = configs::flatten(
        configs::load_config(in("recipe.toml"), layers::model_families(), overrides));
    return data_shares(state, "outputs/a");
  }

  test::TemporaryFolder folder_;
};

TEST_F(DataShares, OneManifestHasAll) {
  const auto found = shares({});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].manifest, in("a.jsonl"));
  EXPECT_EQ(found[0].utterances, 5u);
  EXPECT_GT(found[0].seconds, 0);
  EXPECT_EQ(found[0].share, 1);
}

TEST_F(DataShares, MixturesHaveThoseOfTheirEpochs) {
  const auto found = shares({"data.train=[\"" + in("a.jsonl") + "\",\"" + in("b.jsonl") + "\"]",
                             "data.share_by=utterances"});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NEAR(found[0].share, 0.25, 1e-9);
  EXPECT_NEAR(found[1].share, 0.75, 1e-9);
  EXPECT_NEAR(found[1].repeats, 1, 1e-4);
  EXPECT_EQ(found[1].utterances, 15u);
}

TEST_F(DataShares, TableShowsThemEscaped) {
  const std::string html = shares_html(
      {{.manifest = "<a>", .group = "de", .utterances = 1234, .seconds = 7200, .share = 0.375}});
  EXPECT_NE(html.find("<th scope=\"row\">&lt;a&gt;</th><td>de</td><td class=\"n\">1,234</td>"),
            std::string::npos)
      << html;
  EXPECT_NE(html.find("37.5 %"), std::string::npos);
  EXPECT_EQ(shares_html({{.manifest = "a"}}).find(">group<"), std::string::npos);
}

}  // namespace
}  // namespace penstock::tools
