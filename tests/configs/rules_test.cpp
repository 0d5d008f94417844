#include "configs/rules.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "configs/load.h"
#include "layers/models/families.h"

namespace penstock::configs {
namespace {

/// Returns what a recipe of these keys contradicts; "" if it is accepted.
std::string contradiction_of(const std::vector<std::string>& overrides) {
  try {
    (void)parse_config("", "recipe.toml", layers::model_families(), overrides);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

// Labels of decoders that write texts have no blank.
TEST(Rules, IntermediateCtcNeedsABlank) {
  const std::string family = "model.kind=conformer", losses = "model.intermediate_ctc=[4, 8]";
  for (const char* decoder : {"ctc", "rnnt", "tdt"})
    EXPECT_EQ(contradiction_of({family, losses, std::string("model.decoder=") + decoder}), "");
  EXPECT_EQ(contradiction_of({family, "model.decoder=attention"}), "");
  const std::string found = contradiction_of({family, losses, "model.decoder=attention"});
  EXPECT_NE(found.find("CTC after blocks is trained with model.decoder = ctc, rnnt or tdt, which "
                       "have a blank, and not with attention: set model.intermediate_ctc=[]"),
            std::string::npos)
      << found;
}

TEST(Rules, IntermediateCtcFollowsBlocksOfTheModel) {
  const std::string found =
      contradiction_of({"model.kind=transformer", "model.intermediate_ctc=[6]"});
  EXPECT_NE(found.find("a loss follows block 6, and the model has 6 blocks"), std::string::npos)
      << found;
}

}  // namespace
}  // namespace penstock::configs
