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

std::size_t count_text(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

// Whatever a value, a folder or an error holds, it is text: it makes no element, and no place of
// the page is filled by it. The folder is in the title and the heading, the value in the table, the
// headline and the data, the error in the table.
TEST(SweepPage, TextsAreHarmless) {
  const std::string places = "{{title}}{{style}}{{script}}{{body}}{{sections}}{{data}}";
  const std::string page = sweep_page(page_outcome("</script><script>x()</script>" + places));
  const std::string plain = sweep_page(page_outcome("a"));
  for (const char* part : {"<script", "</script", "<section", "<h1", "<table", "<style"})
    EXPECT_EQ(count_text(page, part), count_text(plain, part)) << part;
  EXPECT_EQ(data_in(page)["runs"][0],
            "run 1: WER 25.00 % at step 4\nalphabet </script><script>x()</script>" + places);
  const std::size_t data = page.find("id=\"data\"");
  EXPECT_EQ(page.substr(0, data).find("{{"), std::string::npos);
  EXPECT_EQ(count_text(page, "&lt;script&gt;x()"), 5u);
}

TEST(SweepPage, BytesThatAreNoTextAreReplaced) {
  const std::string page = sweep_page(page_outcome("a\xff"));
  EXPECT_EQ(data_in(page)["runs"][0], "run 1: WER 25.00 % at step 4\nalphabet a\uFFFD");
}

TEST(SweepPage, LoadsNothing) {
  const std::string page = sweep_page(page_outcome("a"));
  for (const char* outside : {"https://", "src=", "@import", "url(", "<link"})
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  EXPECT_EQ(count_text(page, "http://"), count_text(page, "http://www.w3.org/"));
}

TEST(SweepPage, NamesNoFailedRunAsTheBest) {
  SweepOutcome outcome = page_outcome("a");
  outcome.runs[0].result.state = RunState::failed;
  EXPECT_EQ(sweep_page(outcome).find("best is run"), std::string::npos);
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
