#include "tools/reports/training/incidents.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/file_handle.h"
#include "runtime/supervisor/run_status.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::tools {
namespace {

/// The lines are those that a supervisor appends.
TEST(Incidents, AreThoseOfASupervisor) {
  const test::TemporaryFolder folder;
  runtime::append_incident(folder.path(), {.kind = "start", .message = "2 ranks"});
  runtime::append_incident(folder.path(), {.kind = "failure",
                                           .step = 12,
                                           .rank = 1,
                                           .host = "node-2",
                                           .code = 137,
                                           .message = "killed"});
  const auto incidents = parse_incidents(read_file(folder.path() / runtime::kIncidentsFile));
  ASSERT_EQ(incidents.size(), 2u);
  EXPECT_EQ(incidents[0].kind, "start");
  EXPECT_EQ(incidents[0].time.size(), std::string("2026-11-28T15:04:05Z").size());
  EXPECT_EQ(incidents[1].kind, "failure");
  EXPECT_EQ(incidents[1].step, 12);
  EXPECT_EQ(incidents[1].host, "node-2");
  EXPECT_EQ(incidents[1].message, "killed");
}

TEST(Incidents, LeavesOutWhatIsNone) {
  const auto incidents = parse_incidents("ind\":1}\n\n[]\n{}\n{\"kind\":\"hang\"}\n{\"kind\":\"ha");
  ASSERT_EQ(incidents.size(), 1u);
  EXPECT_EQ(incidents[0], (RunIncident{.kind = "hang"}));
  EXPECT_TRUE(parse_incidents("").empty());
}

TEST(Incidents, TableShowsTheNewestEscaped) {
  std::vector<RunIncident> incidents(120, {.kind = "old"});
  incidents.back() = {.kind = "<b>", .host = "a&b", .message = "\"x\"", .step = 12345};
  const std::string html = incidents_html(incidents);
  EXPECT_NE(html.find("The newest 100 of 120."), std::string::npos);
  EXPECT_NE(html.find("<td class=\"n\">12,345</td><td>&lt;b&gt;</td><td>&quot;x&quot; (a&amp;b)"),
            std::string::npos);
  std::size_t rows = 0;
  for (auto at = html.find("<td>old"); at != std::string::npos; at = html.find("<td>old", at + 1))
    ++rows;
  EXPECT_EQ(rows, 99u);
}

TEST(Incidents, NoneAreNoTable) { EXPECT_EQ(incidents_html({}), ""); }

}  // namespace
}  // namespace penstock::tools
