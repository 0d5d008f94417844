#include "partition/planner/report/report.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/error.h"
#include "configs/config.h"
#include "partition/planner/report/sequence_view.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::partition {
namespace {

PlanView view_of_sequence(const std::string& name) {
  const SequenceProfile profile{.name = name,
                                .layers = {{"a", 1, 2, 3, 4, 0}, {"</script>", 1, 2, 3, 4, 0}}};
  PlacementProblem problem{.sequence = SequenceLoad(profile, SequenceLoad::Crossing::bytes),
                           .cluster = equal_devices(2),
                           .micro_batches = 3};
  const PlacedSequence placed = place_sequence(problem, {.stages = 2});
  return view_of({problem, placed, profile}, {{.schedule = "1f1b", .in_flight = {2, 1}}});
}

nlohmann::json data_of(const std::string& page) {
  const std::string open = R"(<script type="application/json" id="data">)";
  const auto from = page.find(open) + open.size();
  return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
}

TEST(Report, HoldsItsDataAndNeedsNothingElse) {
  const std::string page = report(view_of_sequence("tiny"));
  EXPECT_EQ(page.find("{{"), std::string::npos);
  // No address that a browser would load from.
  EXPECT_FALSE(std::regex_search(page, std::regex(R"((src|href)\s*=|url\(|@import|https?://)")));
  const auto data = data_of(page);
  EXPECT_EQ(data["stages"].size(), 2u);
  EXPECT_EQ(data["stages"][0]["limit"], nullptr);  // no limit
  // Three micro-batches forward and back, a reduction and a step.
  ASSERT_EQ(data["replicas"][0]["actions"][0].size(), 8u);
  EXPECT_EQ(data["devices"][1]["stage"], 1);
}

TEST(Report, HasBlanksWithTheirCauses) {
  const std::string page = report(view_of_sequence("tiny"));
  const auto data = data_of(page);
  const auto& replica = data["replicas"][0];
  ASSERT_EQ(replica["blanks"].size(), 2u);
  const auto& first = replica["blanks"][1][0];  // until stage 0's first micro-batch is there
  EXPECT_EQ(first[0], 0);
  EXPECT_EQ(first[1], replica["actions"][1][0][3]);
  EXPECT_EQ(first[2], 0);
  EXPECT_EQ(first[3], 0);
  for (int stage = 0; stage < 2; ++stage) {
    double sum = 0;
    for (const auto& blank : replica["blanks"][stage])
      sum += blank[1].get<double>() - blank[0].get<double>();
    for (const auto& action : replica["actions"][stage])
      if (action[0] != 4) sum += action[4].get<double>() - action[3].get<double>();
    EXPECT_NEAR(sum, replica["end"].get<double>(), 1e-8) << stage;
  }
  for (const char* said : {"idle until its first micro-batch is there", "computes what it needs",
                           "until the other stages have ended"})
    EXPECT_NE(page.find(said), std::string::npos) << said;
}

TEST(Report, TextCantEndTheScript) {
  const PlanView view = view_of_sequence("</script><b>");
  const auto data = data_of(report(view));
  EXPECT_EQ(data["title"], view.title);
  EXPECT_EQ(data["stages"][1]["layers"][0], "</script>");
}

TEST(Report, SaysWhereItCantBeWritten) {
  const test::TemporaryFolder folder;
  const PlanView view = view_of_sequence("tiny");
  write_report(folder.path() / "plan.html", view);
  std::ifstream in(folder.path() / "plan.html");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), report(view));
  EXPECT_NE(test::message_of<ConfigError>([&] {
              write_report(folder.path() / "gone" / "plan.html", view);
            }).find("gone/plan.html"),
            std::string::npos);
}

}  // namespace
}  // namespace penstock::partition
