#include "runtime/recognise/manifest_fields.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

using Values = std::vector<std::string>;

class ManifestFieldsTest : public testing::Test {
 protected:
  std::string in(const char* name) const { return (folder_.path() / name).string(); }
  test::TemporaryFolder folder_;
};

TEST_F(ManifestFieldsTest, AreTextsOrNumbersOrNone) {
  test::write_file(in("m.jsonl"),
                   "\xEF\xBB\xBF{\"speaker\": \"anna\", \"age\": 41}\n"
                   "\n"
                   "{\"speaker\": null}\r\n"
                   "no JSON\n"
                   "{\"age\": 4.5, \"speaker\": true}");
  ManifestFields fields(in("m.jsonl"), {"age", "speaker"});
  EXPECT_EQ(fields.at(1), (Values{"41", "anna"}));
  EXPECT_EQ(fields.at(3), (Values{"(none)", "(none)"}));
  EXPECT_EQ(fields.at(5), (Values{"4.5", "true"}));
  const std::string message = test::message_of<DataError>([&] { fields.at(6); });
  EXPECT_NE(message.find("m.jsonl: has no line 6 any more"), std::string::npos) << message;
}

TEST_F(ManifestFieldsTest, MustBeInSomeLine) {
  test::write_file(in("a.jsonl"), "{\"speaker\": 1, \"text\": \"\"}\nno JSON\n{\"city\": 2}\n");
  test::write_file(in("b.jsonl"), "{\"domain\": 1}\n");
  EXPECT_NO_THROW(require_fields({in("a.jsonl"), in("b.jsonl")}, {"domain", "city"}));
  const std::string message = test::message_of<DataError>([&] {
    require_fields({in("a.jsonl"), in("b.jsonl")}, {"speaker", "speakers"});
  });
  for (const char* part : {"--by speakers: no line of ", "a.jsonl, ", "b.jsonl has this field",
                           "lines have city, domain, text"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST_F(ManifestFieldsTest, AreOfJsonLinesAlone) {
  test::write_file(in("a.csv"), "audio,text\na.wav,ab\n");
  const std::string message =
      test::message_of<DataError>([&] { require_fields({in("a.csv")}, {"speaker"}); });
  EXPECT_NE(message.find("--by reads fields of JSON lines, but "), std::string::npos) << message;
}

}  // namespace
}  // namespace penstock::runtime
