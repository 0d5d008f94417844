#include "runtime/supervisor/host_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <sstream>

#include "base/error.h"
#include "base/file_handle.h"
#include "runtime/supervisor/child_process.h"

namespace penstock::runtime {
namespace {

constexpr std::chrono::seconds kDiscoveryLimit{30};
constexpr int kMaxSlots = 4096;

/// Returns a number from 1 to kMaxSlots, or 0 for another text.
int count_in(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && number >= 1 && number <= kMaxSlots ? number : 0;
}

bool is_host_name(std::string_view name) {
  return !name.empty() && name.front() != '-' && std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_';
  });
}

/// Parses the words of a line. Returns no slots if they are no host.
PoolHost parse_host(const std::vector<std::string>& words) {
  std::string name = words.front();
  int slots = 1;
  if (const std::size_t colon = name.find(':'); colon != std::string::npos) {
    slots = count_in(std::string_view(name).substr(colon + 1));
    name.resize(colon);
  }
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word.starts_with("slots="))
      slots = count_in(word.substr(6));
    else if (!word.starts_with("max_slots=") && !word.starts_with("max-slots="))
      slots = 0;
  }
  return {name, is_host_name(name) ? slots : 0};
}

std::vector<std::string> split_words(const std::string& line) {
  std::istringstream in(line.substr(0, line.find('#')));
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::string capture_output(const Command& command, const std::string& shown) {
  const CommandOutput result = run_command(command, kDiscoveryLimit);
  if (result.timed_out)
    throw ConfigError(fmt::format("{} has not ended after {} s: it must print the hosts and end",
                                  shown, kDiscoveryLimit.count()));
  if (result.code != 0)
    throw ConfigError(fmt::format("{} failed with exit code {}: {}", shown, result.code,
                                  first_line(result.errors)));
  return result.output;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<PoolHost> find_slurm_hosts() {
  const std::string nodes = variable("SLURM_JOB_NODELIST");
  if (nodes.empty())
    throw ConfigError("SLURM_JOB_NODELIST is not set: --slurm is for a job script of Slurm");
  std::vector<PoolHost> hosts = parse_hosts(
      capture_output({{"scontrol", "show", "hostnames", nodes}}, "scontrol show hostnames"),
      "scontrol show hostnames");
  std::string tasks = variable("SLURM_TASKS_PER_NODE");
  const std::vector<int> slots = parse_tasks_per_node(tasks.empty() ? "1" : tasks);
  for (std::size_t i = 0; i < hosts.size(); ++i)
    hosts[i].slots = slots[std::min(i, slots.size() - 1)];
  return hosts;
}

}  // namespace

std::vector<PoolHost> parse_hosts(std::string_view text, const std::string& source) {
  std::vector<PoolHost> hosts;
  std::istringstream in{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const std::vector<std::string> words = split_words(line);
    if (words.empty()) continue;
    const PoolHost host = parse_host(words);
    if (host.slots == 0)
      throw ConfigError(
          fmt::format("{}, line {}: \"{}\" is no host: expected a line such as \"node-1 slots=4\"",
                      source, number, line));
    if (std::ranges::any_of(hosts, [&](const PoolHost& h) { return h.name == host.name; }))
      throw ConfigError(fmt::format("{}, line {}: {} stands twice: give each host one line", source,
                                    number, host.name));
    hosts.push_back(host);
  }
  return hosts;
}

std::vector<int> parse_tasks_per_node(const std::string& text) {
  std::vector<int> tasks;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    const std::size_t bracket = part.find("(x");
    const bool repeated = bracket != std::string::npos;
    const int slots = count_in(std::string_view(part).substr(0, bracket));
    const int nodes =
        repeated ? count_in(std::string_view(part).substr(bracket + 2, part.size() - bracket - 3))
                 : 1;
    if (slots == 0 || nodes == 0 || (repeated && !part.ends_with(')')))
      throw ConfigError(
          fmt::format("SLURM_TASKS_PER_NODE is \"{}\": expected a text such as \"4(x2),3\"", text));
    tasks.insert(tasks.end(), static_cast<std::size_t>(nodes), slots);
  }
  return tasks;
}

std::vector<PoolHost> find_hosts(const HostSource& source) {
  if (!source.file.empty()) return parse_hosts(read_file(source.file), source.file);
  if (!source.discover.empty())
    return parse_hosts(capture_output({{"sh", "-c", source.discover}}, source.discover),
                       fmt::format("the output of {}", source.discover));
  return source.slurm ? find_slurm_hosts() : std::vector<PoolHost>{};
}

bool HostRecord::count_failure(const std::string& host, Time now) {
  Entry& entry = hosts_[host];
  if (++entry.failures < limits_.max_failures) return false;
  entry.failures = 0;
  entry.excluded_until = now + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                   std::chrono::duration<double>(limits_.excluded_s));
  return true;
}

bool HostRecord::excluded(const std::string& host, Time now) const {
  const auto found = hosts_.find(host);
  return found != hosts_.end() && now < found->second.excluded_until;
}

std::vector<PoolHost> HostRecord::usable(const std::vector<PoolHost>& hosts, Time now) const {
  std::vector<PoolHost> usable;
  for (const PoolHost& host : hosts)
    if (!excluded(host.name, now)) usable.push_back(host);
  return usable;
}

int count_slots(const std::vector<PoolHost>& hosts) {
  int slots = 0;
  for (const PoolHost& host : hosts) slots += host.slots;
  return slots;
}

std::vector<PoolHost> first_slots(const std::vector<PoolHost>& hosts, int ranks) {
  std::vector<PoolHost> taken;
  for (const PoolHost& host : hosts) {
    if (ranks == 0) break;
    taken.push_back({host.name, std::min(host.slots, ranks)});
    ranks -= taken.back().slots;
  }
  return taken;
}

}  // namespace penstock::runtime
