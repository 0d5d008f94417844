#include "tools/reports/training/training_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>

#include "tools/reports/training/line_chart.h"

namespace penstock::tools {
namespace {

ReportedRun page_run(const std::string& name, std::int64_t steps = 4) {
  ReportedRun run{.name = name};
  for (std::int64_t step = 1; step <= steps; ++step)
    run.history.steps.push_back({.step = step,
                                 .loss = 1 + 1e3 / static_cast<double>(step),
                                 .learning_rate = 1e-3,
                                 .gradient_norm = 3,
                                 .audio_seconds = 12,
                                 .step_seconds = 4 + static_cast<double>(step % 7)});
  run.history.validations.push_back({.step = steps, .loss = 9, .wer = 0.5, .cer = 0.25});
  return run;
}

std::string make_page(const std::vector<ReportedRun>& runs) { return training_report({runs}); }

nlohmann::json page_data(const std::string& page) {
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const std::size_t at = page.find(open) + open.size();
  return nlohmann::json::parse(page.substr(at, page.find("</script", at) - at));
}

TEST(TrainingReport, ShowsChartsTheirDataAndFigures) {
  const std::string page = make_page(std::vector{page_run("outputs/a")});
  EXPECT_NE(page.find("<h1>outputs/a</h1>"), std::string::npos);
  EXPECT_NE(page.find("4 steps; lowest WER 50.00 % at step 4"), std::string::npos);
  EXPECT_NE(page.find("<th scope=\"row\">lowest WER</th><td>50.00&nbsp;%, step 4</td>"),
            std::string::npos);
  const nlohmann::json charts = page_data(page)["charts"];
  for (const auto& [id, chart] : charts.items())
    EXPECT_NE(page.find("data-chart=\"" + id + "\""), std::string::npos) << id;
  EXPECT_EQ(charts["loss"]["lines"][0]["columns"][1],
            nlohmann::json::parse("[2, 2, 501.0, 501.0, 501.0, 1]"));
}

TEST(TrainingReport, SeveralRunsAreColumns) {
  const std::string page = make_page(std::vector{page_run("outputs/a"), page_run("outputs/b")});
  EXPECT_NE(page.find("<h1>2 runs</h1>"), std::string::npos);
  EXPECT_NE(page.find("<th scope=\"col\">outputs/a</th><th scope=\"col\">outputs/b</th>"),
            std::string::npos);
  EXPECT_EQ(page_data(page)["charts"]["wer"]["lines"].size(), 2u);
}

/// Whatever a name or a note holds, it is text: no element begins or ends, no place is filled.
TEST(TrainingReport, TextsAreHarmless) {
  const std::string hostile =
      "</script><script>alert(1)</script><!-- {{data}} {{sections}} \" onload=x \xff";
  ReportedRun run = page_run(hostile);
  run.notes = {hostile};
  run.history.early_end = hostile;
  const std::string page = make_page(std::vector{run, run});
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("<!--"), std::string::npos);
  EXPECT_EQ(page_data(page)["charts"]["loss"]["lines"][1]["name"],
            hostile.substr(0, hostile.size() - 1) + "\xEF\xBF\xBD");
}

/// A run may have the name of any place of the page.
TEST(TrainingReport, NamesOfRunsFillNoPlace) {
  const std::size_t usual = make_page({page_run("outputs")}).size();
  for (const std::string place : {"title", "style", "script", "body", "data", "sections"}) {
    const std::string name = "{{" + place + "}}", shown = "&#123;&#123;" + place + "}}";
    ReportedRun run = page_run(name);
    run.notes = {name};
    run.incidents = {{.kind = name}};
    const std::string page = make_page({run});
    EXPECT_NE(page.find("<title>penstock report: " + shown + "</title>"), std::string::npos);
    EXPECT_NE(page.find("<h1>" + shown + "</h1>"), std::string::npos);
    EXPECT_TRUE(page.ends_with("</html>\n"));
    EXPECT_LT(page.size(), usual + 1000) << name;
    EXPECT_EQ(page_data(page)["charts"]["loss"]["lines"].size(), 2u);
    const std::string both = make_page({run, page_run("b")});
    EXPECT_EQ(page_data(both)["charts"]["loss"]["lines"][0]["name"], name);
  }
}

/// Bands have an outline, without which peaks of a single step can hardly be seen.
TEST(TrainingReport, BandsHaveAnOutline) {
  const std::string page = make_page({page_run("a")});
  EXPECT_TRUE(std::regex_search(
      page, std::regex(R"(\n\.band \{[^}]*stroke: var\(--c\); stroke-width: 1;)")));
  EXPECT_FALSE(std::regex_search(page, std::regex(R"(\.band \{[^}]* opacity:)")));
}

TEST(TrainingReport, PageNeedsNothingElse) {
  const std::string page = make_page(std::vector{page_run("a")});
  EXPECT_FALSE(std::regex_search(
      page, std::regex(R"(innerHTML|outerHTML|insertAdjacent|document\.write|eval\()")));
  EXPECT_FALSE(std::regex_search(page, std::regex(R"((src|href)\s*=|url\(|@import|https://)")));
  EXPECT_EQ(page.find("{{"), std::string::npos);
}

/// Twenty times as many steps change the page by the digits of their numbers alone.
TEST(TrainingReport, LongRunsMakeNoLongerPages) {
  const std::size_t bytes = make_page(std::vector{page_run("a", 20'000)}).size();
  EXPECT_LT(bytes, 300'000u);
  EXPECT_LT(make_page(std::vector{page_run("a", 400'000)}).size(), bytes * 6 / 5);
}

TEST(TrainingReport, SectionsFollowWhatIsKnown) {
  ReportedRun run = page_run("outputs/a");
  const std::string without = make_page({run});
  for (const char* id : {"data", "incidents", "memory", "timeline", "evaluation"})
    EXPECT_EQ(without.find("<h2 id=\"h-" + std::string(id)), std::string::npos) << id;
  run.incidents = {{.kind = "hang", .message = "rank 3"}};
  run.shares = {{.manifest = "train.jsonl"}};
  run.state = runtime::TrainingState{};
  run.state->config["pipeline.memory_gib"] = "0.5";
  partition::ChunkPlan chunk{.layers = {"layer"}};
  chunk.predicted.bytes.weights = 1 << 20;
  run.plan = partition::Plan{.micro_batches = 2, .ranks = {{0}}, .chunks = {chunk}};
  const std::vector<ReportedRun> runs = {run};
  const std::vector<JudgedResults> results = {{.file = "results.jsonl"}};
  const std::string with = training_report({runs, results});
  for (const char* id : {"data", "incidents", "memory", "timeline", "evaluation"})
    EXPECT_NE(with.find("<h2 id=\"h-" + std::string(id)), std::string::npos) << id;
  EXPECT_NE(with.find("pipeline.memory_gib: 512 MiB"), std::string::npos);
  EXPECT_NE(with.find("1f1b, 2 micro-batches on each replica; 6.5 s in the median."),
            std::string::npos);
}

TEST(TrainingReport, WithoutStepsThereIsNoMedian) {
  ReportedRun run{.name = "outputs/a"};
  run.state = runtime::TrainingState{};
  run.plan = partition::Plan{.micro_batches = 2, .ranks = {{0}}, .chunks = {{.layers = {"layer"}}}};
  EXPECT_NE(make_page({run}).find("1f1b, 2 micro-batches on each replica.</p>"), std::string::npos);
}

/// The page's script finds its data by an id, which no section may have too.
TEST(TrainingReport, NoTwoElementsShareAnId) {
  ReportedRun run = page_run("outputs/a");
  run.incidents = {{.kind = "hang"}};
  run.shares = {{.manifest = "train.jsonl"}};
  const std::string page = make_page({run});
  const std::regex id("id=\"([\\w-]+)\"");
  std::vector<std::string> ids;
  for (std::sregex_iterator at(page.begin(), page.end(), id), end; at != end; ++at)
    ids.push_back((*at)[1]);
  EXPECT_GT(ids.size(), 4u);
  std::ranges::sort(ids);
  EXPECT_EQ(std::ranges::adjacent_find(ids), ids.end());
}

/// A plan file of another version may name a schedule that this one lacks.
TEST(TrainingReport, SaysWhyAStepIsNotDrawn) {
  ReportedRun run = page_run("outputs/a");
  run.state = runtime::TrainingState{};
  run.plan = partition::Plan{.schedule = "zigzag", .ranks = {{0}}, .chunks = {{.layers = {"a"}}}};
  const std::string page = make_page({run});
  EXPECT_NE(page.find("It can't be drawn: "), std::string::npos);
}

TEST(TrainingReport, ARunWithoutStepsHasAPage) {
  const std::string page =
      make_page(std::vector<ReportedRun>{{.name = "a", .notes = {"Nothing yet."}}});
  EXPECT_NE(page.find("<li>Nothing yet.</li>"), std::string::npos);
  EXPECT_EQ(page.find("<svg"), std::string::npos);
}

}  // namespace
}  // namespace penstock::tools
