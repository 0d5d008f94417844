#include "runtime/data/manifest/lhotse_recording.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace penstock::runtime {
namespace {

LhotseSource parse(const char* json) { return lhotse_source(nlohmann::json::parse(json)); }

TEST(LhotseRecording, SaysWhatItsObjectHas) {
  const LhotseSource source = parse(
      R"({"sources": [{"type": "file", "source": "a.wav", "channels": [0, 1]}, {}], "duration": 2,)"
      R"( "transforms": [{"name": "Resample"}, {"name": "Speed"}, {"name": "Volume"}]})");
  EXPECT_EQ(source.files, 2u);
  EXPECT_EQ(source.type, "file");
  EXPECT_EQ(source.source, "a.wav");
  EXPECT_EQ(source.channels, 2u);
  EXPECT_EQ(source.seconds, 2);
  EXPECT_EQ(source.transform, "Speed");
}

TEST(LhotseRecording, IsEmptyWhereItsObjectIs) {
  for (const char* json : {"{}", "[]", "3", R"({"sources": {}})", R"({"sources": []})"})
    EXPECT_EQ(parse(json).files, 0u) << json;
  const LhotseSource odd = parse(R"({"sources": [7], "duration": "2", "transforms": [1]})");
  EXPECT_EQ(odd.files, 1u);
  EXPECT_EQ(odd.type + odd.source, "");
  EXPECT_EQ(odd.seconds, 0);
  EXPECT_EQ(odd.transform, "1");
  EXPECT_EQ(parse(R"({"sources": [{}], "transforms": [{"name": "Resample"}]})").transform, "");
}

}  // namespace
}  // namespace penstock::runtime
