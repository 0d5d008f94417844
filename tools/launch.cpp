#include "tools/launch.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <iostream>
#include <thread>
#include <utility>

#include "base/error.h"
#include "runtime/job/job.h"
#include "tools/exit_code.h"
#include "tools/watchdog.h"

namespace penstock::tools {
namespace {

constexpr std::chrono::seconds kPatience{2};    // Open MPI 4.1 takes half a second to end a job
constexpr std::chrono::seconds kMostToEnd{20};  // a rank that failed takes a second or two

}  // namespace

int launched_rank() { return comm::rank_in_job().value_or(0); }

std::function<int()> on_rank_0(std::function<int()> work) {
  return launched_rank() == 0 ? std::move(work) : [] { return exit_done; };
}

void complain(const std::string& message, bool found_by_every_rank) {
  const int rank = launched_rank();
  const bool for_all = found_by_every_rank && rank == 0;
  if (found_by_every_rank && !for_all) std::this_thread::sleep_for(kPatience);
  const bool of_this_rank = !for_all && !runtime::runs_alone();
  std::cerr << fmt::format("penstock: {}{}\n", of_this_rank ? fmt::format("rank {}: ", rank) : "",
                           message)
            << std::flush;
}

void set_up_logging() {
  spdlog::set_default_logger(spdlog::stderr_color_mt("penstock"));
  spdlog::set_pattern("%H:%M:%S %^%l%$: %v");
  spdlog::set_level(launched_rank() == 0 ? spdlog::level::info : spdlog::level::warn);
}

int complain_of(const std::exception& error) { return complain_and_end(error, kMostToEnd); }

int complain_and_end(const std::exception& error, std::chrono::milliseconds limit) {
  const ExitCode code = exit_code(error);
  const bool diverged = dynamic_cast<const DivergenceError*>(&error) != nullptr;
  complain(error.what(), code == exit_usage || code == exit_data || diverged);
  end_process_within(limit, code);
  return code;
}

}  // namespace penstock::tools
