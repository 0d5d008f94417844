#include <gtest/gtest.h>

#include "base/error.h"
#include "configs/rules.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::configs {
namespace {

OptimizerConfig with(std::vector<std::string> entries) {
  OptimizerConfig optimizer;
  optimizer.learning_rates = std::move(entries);
  return optimizer;
}

TEST(RateFactors, AreReadInTheirOrder) {
  const auto factors = rate_factors(with({"output.*: 10", "block?.*:1e-3"}));
  ASSERT_EQ(factors.size(), 2u);
  EXPECT_EQ(factors[0].pattern, "output.*");
  EXPECT_EQ(factors[0].factor, 10);
  EXPECT_EQ(factors[1].pattern, "block?.*");
  EXPECT_EQ(factors[1].factor, 1e-3);
  EXPECT_TRUE(rate_factors({}).empty());
}

TEST(RateFactors, NameEveryEntryThatIsNone) {
  const std::vector<std::string> wrong = {"output", "a:",   ":2",    "b:0",  "c:-1",
                                          "d:two",  "e:2x", "f:inf", "g:nan"};
  const std::string message = test::message_of<ConfigError>([&] { rate_factors(with(wrong)); });
  for (const std::string& entry : wrong)
    EXPECT_NE(message.find("\"" + entry + "\""), std::string::npos) << message;
  EXPECT_NE(message.find("optimizer.freeze"), std::string::npos);
}

}  // namespace
}  // namespace penstock::configs
