#include "runtime/supervisor/host_probe.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "runtime/devices/rank_info.h"
#include "runtime/supervisor/child_process.h"

namespace penstock::runtime {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::seconds kLimit{20};

/// Returns the word so that a shell takes it as one.
std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string(R"('\'')") : std::string(1, c);
  return text + "'";
}

bool is_plain(const std::string& word) {
  return word.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=:@,") ==
         std::string::npos;
}

/// Returns the command that runs `words` on the host. A remote shell parses them, so they are
/// quoted.
Command on_host(const HostProbe& probe, const std::string& host,
                const std::vector<std::string>& words) {
  if (is_this_machine(host)) return {words};
  Command command;
  std::istringstream agent(probe.agent);
  for (std::string word; agent >> word;) command.words.push_back(word);
  command.words.push_back(host);
  for (const std::string& word : words)
    command.words.push_back(is_plain(word) ? word : quoted(word));
  return command;
}

}  // namespace

bool is_this_machine(const std::string& host) {
  return host == "localhost" || host == machine_name();
}

std::string probe_answer(const std::string& version, int ended) {
  return Json{{"version", version}, {"machine", machine_name()}, {"ended", ended}}.dump() + '\n';
}

namespace {

/// Returns why the answer is not that of a host that can take part.
std::string fault_in(const HostProbe& probe, const CommandOutput& answer, const Json& json) {
  if (answer.timed_out) return fmt::format("does not answer within {} s", kLimit.count());
  if (answer.code != 0)
    return fmt::format("{} probe ends there with exit code {}: {}", probe.program, answer.code,
                       first_line(answer.errors.empty() ? answer.output : answer.errors));
  if (!json.is_object() || !json.contains("version") || !json.contains("machine"))
    return fmt::format("{} probe prints \"{}\" there, not its version", probe.program,
                       first_line(answer.output));
  if (json["version"] != probe.version)
    return fmt::format("has penstock {}, but this machine has {}: install the same on both",
                       json["version"].dump(), probe.version);
  return "";
}

}  // namespace

HostAnswer probe_host(const HostProbe& probe, const std::string& host) try {
  std::vector<std::string> words = {probe.program, "probe"};
  if (!probe.token.empty()) words.insert(words.end(), {"--end-job", probe.token});
  const CommandOutput answer = run_command(on_host(probe, host, words), kLimit);
  const Json json = Json::parse(answer.output, nullptr, false);
  const std::string fault = fault_in(probe, answer, json);
  return {fault, fault.empty() ? json["machine"].get<std::string>() : ""};
} catch (const std::exception& error) {
  return {error.what(), ""};
}

}  // namespace penstock::runtime
