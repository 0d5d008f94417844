#include "tools/sweep/sweep_page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace penstock::tools {
namespace {

SweepOutcome page_outcome(const std::string& value) {
  SweepOutcome outcome{.folder = "outputs/" + value};
  outcome.plan.axes = {*parse_axis("text.alphabet=a,b")};
  outcome.plan.points = {{value}, {"b"}};
  outcome.runs = {{1, "run-001", {RunState::done, 5, 0.25, 4}},
                  {2, "run-002", {RunState::failed, 3, {}, 0, "broke " + value}}};
  return outcome;
}

nlohmann::json data_in(const std::string& page) {
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const std::size_t at = page.find(open) + open.size();
  return nlohmann::json::parse(page.substr(at, page.find("</script", at) - at));
}

TEST(SweepPage, ShowsDrawingTableAndTips) {
  const std::string page = sweep_page(page_outcome("a"));
  EXPECT_NE(page.find("<h1>outputs/a</h1>"), std::string::npos);
  EXPECT_NE(page.find("2 runs, 1 done, 1 failed; best is run 1 with WER 25.00 % at step 4: "
                      "alphabet=a"),
            std::string::npos);
  EXPECT_NE(page.find("class=\"parallel\""), std::string::npos);
  EXPECT_NE(page.find("<tr data-run=\"0\"><td class=\"n\">1</td><td class=\"n\">a</td>"),
            std::string::npos);
  EXPECT_NE(page.find("failed: broke a"), std::string::npos);
  EXPECT_EQ(data_in(page)["runs"][0], "run 1: WER 25.00 % at step 4\nalphabet a");
}

// Whatever a value, a folder or an error holds, it is text: nothing is loaded, no place is filled.
TEST(SweepPage, TextsAreHarmless) {
  const std::string hostile = "</script><script>x()</script>{{sections}}{{data}}\xff";
  const std::string page = sweep_page(page_outcome(hostile));
  EXPECT_EQ(page.find("<script>x()"), std::string::npos);
  EXPECT_EQ(page.find("{{sections}}</"), std::string::npos);
  EXPECT_NE(data_in(page)["runs"][0].get<std::string>().find("{{data}}"), std::string::npos);
  for (const char* outside : {"http://", "https://", "src=", "@import"})
    EXPECT_EQ(sweep_page(page_outcome("a")).find(outside),
              std::string(outside) == "http://"
                  ? sweep_page(page_outcome("a")).find("http://www.w3")
                  : std::string::npos)
        << outside;
}

TEST(SweepPage, NeedsNoMetric) {
  SweepOutcome outcome = page_outcome("a");
  for (SweptRun& run : outcome.runs) run.result = {};
  const std::string page = sweep_page(outcome);
  EXPECT_EQ(page.find("class=\"parallel\""), std::string::npos);
  EXPECT_NE(page.find("2 runs, 0 done, 2 waiting"), std::string::npos);
}

}  // namespace
}  // namespace penstock::tools
