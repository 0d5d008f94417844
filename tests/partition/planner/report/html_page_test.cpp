#include "partition/planner/report/html_page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "partition/planner/report/page.h"

namespace penstock::partition {
namespace {

TEST(HtmlPage, HasSharedTextsBeforeItsOwn) {
  EXPECT_EQ(assembled_page({"{{style}}|{{script}}|{{data}}", "mine", "own"}),
            std::string(shared_style()) + "mine|" + std::string(shared_script()) + "own|{{data}}");
}

TEST(HtmlPage, FillsTheFirstPlaceAlone) {
  std::string page = "a {{x}} b {{x}}";
  fill_place(page, "{{x}}", "{{x}}{{y}}");
  EXPECT_EQ(page, "a {{x}}{{y}} b {{x}}");
}

/// A comment that opens within a script element hides the element's end tag from a browser.
TEST(HtmlPage, NoTextEndsTheElement) {
  const nlohmann::json data = {{"text", "</script><!-- <script> 1 < 2"}, {"n", {1, 2}}};
  const std::string json = json_in_html(data.dump());
  EXPECT_EQ(json.find('<'), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(json), data);
}

}  // namespace
}  // namespace penstock::partition
