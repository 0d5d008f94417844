#include "runtime/huggingface/settings.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

TEST(Settings, FindsWhatLiesWithinObjects) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "config.json";
  test::write_file(file, R"({"a": 1, "b": {"c": "x", "d": [1, 2]}, "e": null})");
  const Settings settings = read_settings(file);
  EXPECT_EQ(settings, (Settings{{"a", "1"}, {"b.c", "\"x\""}, {"b.d", "[1,2]"}, {"e", "null"}}));
  EXPECT_EQ(plain_text(settings.at("b.c")), "x");
  EXPECT_EQ(items_of_json_list(settings.at("b.d")), (std::vector<std::string>{"1", "2"}));
  test::write_file(file, to_json_text(settings));
  EXPECT_EQ(read_settings(file), settings);
}

TEST(Settings, ChangesWhatItIsTold) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "config.json";
  test::write_file(file, R"({"z": {"a.b": 0, "c": {}}, "torch_dtype": "float16", "a": 1e-05})");
  EXPECT_EQ(text_with_settings(file, {{"torch_dtype", "\"float32\""}, {"z.d", "7"}}), R"({
  "z": {
    "a.b": 0,
    "c": {},
    "d": 7
  },
  "torch_dtype": "float32",
  "a": 1e-05
}
)");
  test::write_file(file, "{}");
  EXPECT_EQ(text_with_settings(file, {{"dtype", "\"bfloat16\""}}),
            "{\n  \"dtype\": \"bfloat16\"\n}\n");
}

TEST(Settings, ComparesNumbersByValue) {
  EXPECT_TRUE(same_json("1e-05", "0.00001"));
  EXPECT_TRUE(same_json("1", "1.0"));
  EXPECT_FALSE(same_json("\"1\"", "1"));
}

TEST(Settings, RefuseWhatIsNoObject) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "config.json";
  for (const char* text : {"", "{", "[1]", "3"}) {
    test::write_file(file, text);
    EXPECT_NE(test::message_of<CheckpointError>([&] { (void)read_settings(file); }), "") << text;
  }
}

TEST(Settings, RefuseObjectsThatNestTooDeeply) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "config.json";
  std::string text, end;
  for (int i = 0; i < 20'000; ++i) {
    text += "{\"a\": ";
    end += '}';
  }
  test::write_file(file, text + "1" + end);
  EXPECT_EQ(test::message_of<CheckpointError>([&] { (void)read_settings(file); }),
            file.string() + ": its values nest deeper than 128");
}

}  // namespace
}  // namespace penstock::runtime
