#include <gtest/gtest.h>

#include <filesystem>

#include "configs/value.h"

namespace penstock::configs {
namespace {

using Manifests = std::vector<WeightedManifest>;

Manifests read_list(const std::string& text) {
  Manifests manifests;
  EXPECT_EQ(read_manifests(text, manifests), "") << text;
  return manifests;
}

std::string fault_of_list(const std::string& text) {
  Manifests manifests;
  return read_manifests(text, manifests);
}

TEST(ManifestList, ComesBackFromItsText) {
  for (const Manifests& manifests :
       {Manifests{}, Manifests{{"a b.jsonl"}}, Manifests{{"a.jsonl", 0.1}},
        Manifests{{"a.jsonl", 1, "de"}}, Manifests{{"a", 0.5, "de"}, {"b", 1, "d \"e\""}},
        Manifests{{"a.jsonl", 4.0 / 3}, {"b, c.jsonl"}, {"d \"e\"\\\n\t.jsonl", 1e-9}},
        Manifests{{"[a.jsonl]"}}, Manifests{{"[a.jsonl"}}, Manifests{{" [a, b] "}}})
    EXPECT_EQ(read_list(manifests_text(manifests)), manifests) << manifests_text(manifests);
}

TEST(ManifestList, OfOneIsItsPath) {
  EXPECT_EQ(manifests_text({{"a, b.jsonl"}}), "a, b.jsonl");
  EXPECT_EQ(manifests_text({{"a.jsonl", 2}, {"b.jsonl"}}),
            "[{manifest = \"a.jsonl\", weight = 2}, \"b.jsonl\"]");
  EXPECT_EQ(read_list("x=y, [z].jsonl"), (Manifests{{"x=y, [z].jsonl"}}));
}

TEST(ManifestList, NeedsNoQuotes) {
  const Manifests three = {{"a b.jsonl"}, {"c.jsonl"}, {"/d/"}};
  EXPECT_EQ(fault_of_list("[1, 2]"),
            "item 1 is neither a path nor a table of manifest, weight and group");
  EXPECT_EQ(read_list(" [a b.jsonl,c.jsonl ,  /d/]"), three);
  EXPECT_EQ(read_list("[\u00e9.jsonl, b]"), (Manifests{{"\u00e9.jsonl"}, {"b"}}));
  EXPECT_EQ(read_list(R"(["a b.jsonl", 'c.jsonl', {manifest = "/d/"}])"), three);
}

TEST(ManifestList, SaysWhatIsWrong) {
  EXPECT_EQ(fault_of_list("[]"), "the list is empty: name a manifest");
  EXPECT_EQ(fault_of_list("[\"a\", 3]"),
            "item 2 is neither a path nor a table of manifest, weight and group");
  EXPECT_EQ(fault_of_list("[{manifest = \"a\", wieght = 3}]"),
            "item 1 has the unknown key wieght, and takes manifest, weight and group; did you mean "
            "weight?");
  EXPECT_EQ(fault_of_list("[{weight = 3}]"),
            "item 1 names no manifest: write {manifest = \"a.jsonl\", weight = 2}");
  EXPECT_EQ(fault_of_list("[{manifest = \"a\", weight = \"3\"}]"),
            "item 1 has a weight that is no number: a weight is a number above 0");
  EXPECT_EQ(fault_of_list("[\"a\", \"\"]"),
            "item 2 has an empty path: name a manifest, or leave the item out");
  EXPECT_TRUE(fault_of_list("[\"a]").starts_with("it is no list in TOML: "))
      << fault_of_list("[\"a]");
}

TEST(ManifestList, WantsAGroupForEachOrForNone) {
  EXPECT_EQ(read_list(R"([{manifest = "a", group = "de"}, {group = "cs", manifest = "b"}])"),
            (Manifests{{"a", 1, "de"}, {"b", 1, "cs"}}));
  EXPECT_EQ(fault_of_list(R"([{manifest = "a", group = "de"}, "b"])"),
            "a has the group de, and b has none: name a group for each or for none");
  for (const char* group : {"\"\"", "3", "[\"de\"]"})
    EXPECT_EQ(fault_of_list("[{manifest = \"a\", group = " + std::string(group) + "}]"),
              "item 1 has a group that is no name: write {manifest = \"a.jsonl\", group = \"de\"}");
}

TEST(ManifestList, TakesNoWeightOfNothing) {
  for (const char* weight : {"0", "-2", "nan", "inf", "0.0"})
    EXPECT_TRUE(fault_of_list("[\"a\", {manifest = \"b\", weight = " + std::string(weight) + "}]")
                    .starts_with("item 2 has the weight "))
        << weight;
}

TEST(ManifestList, NamesAManifestOnce) {
  EXPECT_EQ(fault_of_list("[a.jsonl, b.jsonl, x/../a.jsonl]"),
            "items 1 and 3 name one manifest, x/../a.jsonl: name it once");
  const auto here = (std::filesystem::current_path() / "a.jsonl").string();
  EXPECT_TRUE(fault_of_list("[a.jsonl, " + here + "]").starts_with("items 1 and 2 "));
}

TEST(ManifestList, NestsNoDeeperThanItsReader) {
  std::string key = "a";
  for (int i = 0; i < 100'000; ++i) key += ".a";
  EXPECT_EQ(fault_of_list("[{" + key + " = 1}]"),
            "it is no list in TOML: keys and values nest deeper than 128");
}

}  // namespace
}  // namespace penstock::configs
