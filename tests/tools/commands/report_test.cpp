#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "tests/support/runtime/training_folder.h"

namespace penstock::tools {
namespace {

class Report : public testing::Test {
 protected:
  test::Outcome report(std::vector<std::string> words) const {
    words.insert(words.begin(), "report");
    return folder_.run(words);
  }
  void train(const std::string& output, std::vector<std::string> overrides = {}) const {
    overrides.insert(overrides.end(), {"trainer.steps=6", "trainer.validate_every=3"});
    const auto outcome = folder_.train(output, overrides);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  std::string page() const { return folder_.in("page.html"); }
  static nlohmann::json page_data(const std::string& page) {
    const std::string open = "<script type=\"application/json\" id=\"data\">";
    const std::size_t at = page.find(open) + open.size();
    return nlohmann::json::parse(page.substr(at, page.find("</script", at) - at));
  }

  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
};

TEST_F(Report, ShowsWhatATrainingRecorded) {
  train("a");
  const auto outcome = report({folder_.in("a"), "-o", page()});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, page() + "\n");
  const std::string written = test::read_file(page());
  EXPECT_NE(written.find("<td>6 of 6</td>"), std::string::npos);
  const nlohmann::json lines = page_data(written)["charts"]["loss"]["lines"];
  ASSERT_EQ(lines[0]["columns"].size(), 6u);
  EXPECT_EQ(lines[1]["columns"].size(), 2u);
  for (const auto& [step, hexadecimal] : folder_.record("a").losses) {
    const double loss = std::stod(hexadecimal);
    EXPECT_NEAR(lines[0]["columns"][step - 1][2].get<double>(), loss, 1e-5 * loss);
  }
}

TEST_F(Report, ComparesRuns) {
  train("a");
  train("b", {"optimizer.learning_rate=0.25"});
  const auto outcome = report({folder_.in("a"), folder_.in("b"), "-o", page()});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string written = test::read_file(page());
  EXPECT_NE(written.find("<th scope=\"row\">optimizer.learning_rate</th>"), std::string::npos);
  EXPECT_NE(written.find("<td>0.25</td>"), std::string::npos);
  EXPECT_EQ(written.find("<th scope=\"row\">trainer.output</th>"), std::string::npos);
}

/// The plan of the newest checkpoint has two stages, and the corpus one manifest.
TEST_F(Report, ShowsPlanAndData) {
  const auto trained = folder_.train("a", {"trainer.steps=3", "pipeline.stages=2"}, {.count = 2});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const auto outcome = report({folder_.in("a"), "--data", "-o", page()});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, page() + "\n");
  const std::string written = test::read_file(page());
  for (const char* heading : {"memory\">Memory", "timeline\">One step", "data\">Data"})
    EXPECT_NE(written.find(heading), std::string::npos) << heading;
  EXPECT_NE(written.find(">stage 1</text>"), std::string::npos);
  EXPECT_NE(written.find("<title>forward of micro-batch 0 on chunk 1</title>"), std::string::npos);
  EXPECT_NE(written.find(folder_.in("train.jsonl") + "</th><td class=\"n\">30</td>"),
            std::string::npos);
}

TEST_F(Report, PlaysTheWorstUtterances) {
  train("a");
  const std::string results = folder_.in("results.jsonl");
  const auto evaluated = folder_.run(
      {"evaluate", folder_.in("a"), folder_.in("validation.jsonl"), "--results", results});
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  const auto outcome =
      report({folder_.in("a"), "--results", results, "--worst", "3", "-o", page()});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string written = test::read_file(page());
  std::size_t played = 0;
  for (auto at = written.find("src=\"data:audio"); at != std::string::npos;
       at = written.find("src=\"data:audio", at + 1))
    ++played;
  EXPECT_EQ(played, 3u);
  const std::string wer = evaluated.out.substr(evaluated.out.find("WER ") + 4, 5);
  EXPECT_NE(written.find("<td class=\"n\">" + wer), std::string::npos) << evaluated.out;
}

TEST_F(Report, RefusesResultsThatAreNone) {
  train("a");
  const auto outcome =
      report({folder_.in("a"), "--results", folder_.in("train.jsonl"), "-o", page()});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.err.find("train.jsonl:1 is no line"), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(page()));
}

TEST_F(Report, SaysThatALineWasTorn) {
  train("a");
  std::string metrics = test::read_file(folder_.in("a/metrics.jsonl"));
  metrics.resize(metrics.size() - 9);
  test::write_file(folder_.in("a/metrics.jsonl"), metrics);
  const auto outcome = report({folder_.in("a"), "-o", page()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, folder_.in("a") +
                             ": The last line of metrics.jsonl is cut off, as it is while a run "
                             "writes it or after a run was killed, and is left out.\n" +
                             page() + "\n");
}

TEST_F(Report, RefusesWhatIsNoRun) {
  const auto outcome = report({folder_.in(""), "-o", page()});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_NE(outcome.err.find("holds no run: it has no metrics.jsonl"), std::string::npos)
      << outcome.err;
  EXPECT_EQ(report({folder_.in("elsewhere"), "-o", page()}).code, 4);
  EXPECT_FALSE(std::filesystem::exists(page()));
}

TEST_F(Report, ReplacesNoFileOfARun) {
  train("a");
  const std::string metrics = test::read_file(folder_.in("a/metrics.jsonl"));
  for (const char* file : {"a/metrics.jsonl", "a/../a/incidents.jsonl", "a/status.json"}) {
    const auto outcome = report({folder_.in("a"), "-o", folder_.in(file)});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find("is a file of the run"), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(test::read_file(folder_.in("a/metrics.jsonl")), metrics);
  EXPECT_FALSE(std::filesystem::exists(folder_.in("a/incidents.jsonl")));
  const std::string checkpoint = folder_.in("a/checkpoint-000000006");
  ASSERT_TRUE(std::filesystem::exists(checkpoint));
  const auto outcome = report({folder_.in("a"), "-o", checkpoint + "/page.html"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("lies in checkpoint-000000006, a checkpoint"), std::string::npos)
      << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(checkpoint + "/page.html"));
}

TEST_F(Report, RefusesARunThatIsNamedTwice) {
  train("a");
  const auto outcome = report({folder_.in("a"), folder_.in("a/"), "-o", page()});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("are one folder: name each run once"), std::string::npos)
      << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(page()));
}

TEST_F(Report, ChangesNothingInTheFolders) {
  train("a");
  const auto contents = [&] {
    std::map<std::string, std::pair<std::string, std::filesystem::file_time_type>> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.in("a")))
      files[entry.path()] = {entry.is_regular_file() ? test::read_file(entry.path()) : "",
                             entry.last_write_time()};
    return files;
  };
  const auto before = contents();
  ASSERT_GT(before.size(), 2u);
  ASSERT_EQ(report({folder_.in("a"), "-o", page()}).code, 0);
  EXPECT_TRUE(contents() == before);
}

TEST_F(Report, RefusesWrongOptions) {
  EXPECT_EQ(report({}).code, 2);
  EXPECT_EQ(report({"s3://bucket/run"}).code, 2);
  EXPECT_EQ(report({folder_.in("a"), "-o", folder_.in("none/page.html")}).code, 2);
  EXPECT_EQ(report(std::vector<std::string>(9, folder_.in("a"))).code, 2);
}

}  // namespace
}  // namespace penstock::tools
