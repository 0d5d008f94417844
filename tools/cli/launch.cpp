#include "tools/cli/launch.h"

#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <iostream>
#include <memory>
#include <thread>
#include <utility>

#include "base/error.h"
#include "runtime/job/heartbeat.h"
#include "runtime/job/job.h"
#include "tools/cli/escaped_stream.h"
#include "tools/cli/process_end.h"

// Every rank parses the same command line, and each would print the same complaint. So faults that
// all ranks find are rank 0's to print. The others wait for kPatience first: usually rank 0 has
// ended the job by then. A rank that outlives the wait has found the fault alone, for example
// because its node lacks the recipe, and prints it with its number.

namespace penstock::tools {
namespace {

constexpr std::chrono::seconds kPatience{2};   // Open MPI 4.1 takes half a second to end a job
constexpr std::chrono::seconds kMaxToEnd{20};  // a rank that failed takes a second or two

/// Escapes the text of a log message, since spdlog bypasses the streams of C++.
class EscapedText : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& line) override {
    const std::string text = escaped({message.payload.data(), message.payload.size()});
    line.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<EscapedText>();
  }
};

}  // namespace

int launched_rank() { return comm::rank_in_job().value_or(0); }

// Under mpirun the other ranks end at once with success, and never join the job.
std::function<int()> on_rank_0(std::function<int()> work) {
  return launched_rank() == 0 ? std::move(work) : [] { return exit_done; };
}

void report_error(const std::string& message, bool found_by_every_rank) {
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
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<EscapedText>('*').set_pattern("%H:%M:%S %^%l%$: %*");
  spdlog::set_formatter(std::move(formatter));
  spdlog::set_level(launched_rank() == 0 ? spdlog::level::info : spdlog::level::warn);
}

int complain_of(const std::exception& error) { return complain_and_end(error, kMaxToEnd); }

// Faults of usage and of data are found before ranks meet, and by all of them alike. Others belong
// to one rank.
int complain_and_end(const std::exception& error, std::chrono::milliseconds limit) {
  const ExitCode code = exit_code(error);
  runtime::announce_end({.rank = launched_rank(), .code = code, .message = error.what()});
  report_error(error.what(), code == exit_usage || code == exit_data);
  end_process_within(limit, code);
  return code;
}

// run_job() has told ranks apart already, so a rank above 0 that is not alone says nothing. All
// ranks diverge together, which is why a divergence has no rank's number although its code is 1.
int complain_in_job(const std::exception& error, bool alone) {
  const ExitCode code = exit_code(error);
  const bool diverged = dynamic_cast<const DivergenceError*>(&error) != nullptr;
  runtime::announce_end({launched_rank(), code, diverged, error.what()});
  if (alone)
    report_error(error.what(), false);
  else if (launched_rank() == 0)
    report_error(error.what(), code != exit_other || diverged);
  end_process_within(kMaxToEnd, code);
  return code;
}

}  // namespace penstock::tools
