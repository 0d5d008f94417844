#include "tools/commands/links.h"

#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "base/table.h"
#include "runtime/job/job.h"
#include "runtime/profiling/job_links.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/json_line.h"
#include "tools/cli/launch.h"
#include "tools/cli/terminal.h"

namespace penstock::tools {
namespace {

void print(const runtime::NeighbourSpeeds& of) {
  std::vector<std::vector<std::string>> rows{{"from", "to", "latency µs", "GB/s"}};
  for (const runtime::LinkSpeed& link : of.speeds)
    rows.push_back({fmt::format("rank {}", link.from), fmt::format("rank {}", link.to),
                    fmt::format("{:.1f}", 1e6 * link.latency_s),
                    fmt::format("{:.2f}", 1e-9 * link.bytes_per_s)});
  std::cout << table_text(rows, output_columns());
  if (of.speeds.empty())
    std::cout << "one rank has no link: start several, by mpirun -np N\n";
  else
    std::cout << fmt::format("measured: {}\n", runtime::text_of(of.links));
}

void print_json(const runtime::NeighbourSpeeds& of, int ranks) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const runtime::LinkSpeed& link : of.speeds)
    list.push_back({{"from", link.from},
                    {"to", link.to},
                    {"latency_s", link.latency_s},
                    {"bytes_per_s", link.bytes_per_s}});
  std::cout << json_line(nlohmann::ordered_json{{"ranks", ranks},
                                                {"measured", runtime::name_of(of.links)},
                                                {"message_bytes", runtime::kLinkMessage},
                                                {"links", list}});
}

}  // namespace

int run_links(const std::string& device, bool json) {
  return runtime::run_job(
      [&](comm::Communicator& world) {
        const runtime::NeighbourSpeeds measured = runtime::neighbour_speeds(device, world);
        if (world.rank() == 0 && json) print_json(measured, world.size());
        if (world.rank() == 0 && !json) print(measured);
        return exit_done;
      },
      complain_in_job);
}

}  // namespace penstock::tools
