#include "runtime/huggingface/module_suffixes.h"

#include <gtest/gtest.h>

namespace penstock::runtime {
namespace {

using Names = std::vector<std::string>;

const Names kModules = {"layers.0.ff1.linear",
                        "layers.0.ff2.linear",
                        "layers.1.ff1.linear",
                        "layers.1.ff2.linear",
                        "head",
                        "layers.11.ff1.linear"};

TEST(ModuleSuffixes, AreAsShortAsTheyMayBe) {
  EXPECT_EQ(
      module_suffixes(
          {"layers.0.ff1.linear", "layers.1.ff1.linear", "layers.11.ff1.linear", "head"}, kModules),
      (Names{"ff1.linear", "head"}));
  EXPECT_EQ(module_suffixes({kModules.begin(), kModules.end()}, kModules),
            (Names{"head", "linear"}));
}

TEST(ModuleSuffixes, ChooseNoOtherModule) {
  EXPECT_EQ(module_suffixes({"layers.1.ff1.linear"}, kModules), Names{"1.ff1.linear"});
  EXPECT_EQ(module_suffixes({"head"}, {"head", "other.head"}), Names{"head"});
}

}  // namespace
}  // namespace penstock::runtime
