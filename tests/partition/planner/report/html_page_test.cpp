#include "partition/planner/report/html_page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "partition/planner/report/page.h"

namespace penstock::partition {
namespace {

TEST(HtmlPage, HasSharedTextsBeforeItsOwn) {
  const std::string page =
      assembled_page({"A title", "<main>{{mine}}</main>", "own style", "own script"});
  EXPECT_NE(page.find("<title>A title</title>"), std::string::npos);
  EXPECT_NE(page.find(std::string(shared_style()) + "own style"), std::string::npos);
  EXPECT_NE(page.find("<body>\n<main>{{mine}}</main>"), std::string::npos);
  EXPECT_NE(page.find(std::string(shared_script()) + "own script"), std::string::npos);
}

/// A page's own places are filled from the last to the first, so {{data}} must follow the body.
TEST(HtmlPage, KeepsPlacesForItsContent) {
  const std::string page = assembled_page({"", "{{mine}}", "", ""});
  EXPECT_LT(page.find("{{mine}}"), page.find("{{data}}"));
  for (const char* place : {"{{title}}", "{{style}}", "{{script}}", "{{body}}"})
    EXPECT_EQ(page.find(place), std::string::npos) << place;
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
