#include "runtime/text/byte_pairs/coder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "runtime/text/byte_pairs/folder.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

using Ids = std::vector<std::int32_t>;

std::unique_ptr<BytePairCoder> golden_coder(const std::string& name) {
  return std::make_unique<BytePairCoder>(
      parse_byte_pairs(byte_pairs_at(test::source("tests/golden/byte_pairs/" + name))));
}

/// The ids without those of special tokens.
Ids without_special(Ids ids, const BytePairModel& model) {
  std::erase_if(ids, [&](std::int32_t id) {
    return std::ranges::any_of(
        model.added, [&](const AddedToken& token) { return token.special && token.id == id; });
  });
  return ids;
}

TEST(BytePairCoder, CodesAsTransformersDoes) {
  std::ifstream file(test::source("tests/golden/byte_pairs/cases.jsonl"));
  std::map<std::string, std::unique_ptr<BytePairCoder>> coders;
  std::map<std::string, int> texts, decoded;
  for (std::string line; std::getline(file, line);) {
    const auto golden = nlohmann::json::parse(line);
    const std::string name = golden[0];
    auto& coder = coders[name];
    if (!coder) coder = golden_coder(name);
    const Ids ids = golden[2];
    if (!golden[1].is_null()) {
      EXPECT_EQ(coder->encode(golden[1].get<std::string>()), ids) << line;
      ++texts[name];
    }
    if (golden[3].is_null()) continue;
    EXPECT_EQ(coder->decode(ids), golden[3].get<std::string>()) << line;
    EXPECT_EQ(coder->decode(without_special(ids, coder->model())), golden[4].get<std::string>())
        << line;
    ++decoded[name];
  }
  for (const char* name : {"whisper.json", "qwen2.json", "prefix-gaps.json"}) {
    EXPECT_GT(texts[name], 200) << name;
    EXPECT_GT(decoded[name], 240) << name;
  }
  for (const char* name : {"whisper-files", "qwen2-files"}) EXPECT_GT(texts[name], 200) << name;
}

TEST(BytePairCoder, NamesTheWrongByteOfAText) {
  const auto coder = golden_coder("qwen2.json");
  std::mt19937 random(7);
  for (int i = 0; i < 50; ++i) {
    std::string text = "ab";
    for (int j = 0; j < 9; ++j) text += static_cast<char>(random() % 128 + 128);
    const std::string message =
        test::message_of<DataError>([&] { (void)coder->encode(text + "\xff"); });
    EXPECT_NE(message.find("not UTF-8 at byte "), std::string::npos) << message;
  }
}

TEST(BytePairCoder, IdsWithoutATokenAddNothing) {
  const auto coder = golden_coder("prefix-gaps.json");
  EXPECT_EQ(coder->decode(Ids{35, 300, 301, 594, 99999, 35}), "DD");
}

/// A merge of neighbours that begins again after each one would take 64 times as long for a word
/// that is 8 times as long.
TEST(BytePairCoder, LongWordsTakeLittleTime) {
  const auto coder = golden_coder("whisper.json");
  const auto work = [&](std::size_t bytes) {  // processor time
    std::string text;
    while (text.size() < bytes) text += "themorningstar";
    const std::clock_t begin = std::clock();
    const Ids ids = coder->encode(text);
    const std::clock_t end = std::clock();
    EXPECT_EQ(coder->decode(ids), text);
    return static_cast<double>(end - begin);
  };
  const double few = work(50'000);
  EXPECT_LT(work(400'000) / few, 30);
}

}  // namespace
}  // namespace penstock::runtime
