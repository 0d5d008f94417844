#include "tools/launch.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <thread>
#include <utility>

#include "tools/exit_code.h"

namespace penstock {
namespace {

const char* launcher_rank() {
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  return rank != nullptr ? rank : std::getenv("PMIX_RANK");
}

}  // namespace

int launched_rank() {
  const char* rank = launcher_rank();
  return rank == nullptr ? 0 : std::atoi(rank);
}

std::function<int()> on_rank_0(std::function<int()> work) {
  return launched_rank() == 0 ? std::move(work) : [] { return exit_done; };
}

void complain(const std::string& message, bool found_by_every_rank) {
  const int rank = launched_rank();
  if (found_by_every_rank && rank != 0) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    return;
  }
  std::string line = "penstock: ";
  if (!found_by_every_rank && launcher_rank() != nullptr)
    line += "rank " + std::to_string(rank) + ": ";
  std::cerr << line + message + "\n" << std::flush;
}

void set_up_logging() {
  spdlog::set_default_logger(spdlog::stderr_color_mt("penstock"));
  spdlog::set_pattern("%H:%M:%S %^%l%$: %v");
  spdlog::set_level(launched_rank() == 0 ? spdlog::level::info : spdlog::level::warn);
}

int complain_of(const std::exception& error) {
  const ExitCode code = exit_code(error);
  complain(error.what(), code == exit_usage);
  return code;
}

}  // namespace penstock
