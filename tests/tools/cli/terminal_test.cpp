#include "tools/cli/terminal.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace penstock::tools {
namespace {

TEST(JsonLine, TakesPathsOfAnyBytes) {
  EXPECT_EQ(json_line(nlohmann::ordered_json{{"path", "\xe9.wav"}, {"text", "ä"}}),
            "{\"path\":\"\xef\xbf\xbd.wav\",\"text\":\"ä\"}\n");
}

}  // namespace
}  // namespace penstock::tools
