#include "runtime/job/consistency.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "comm/agree.h"
#include "comm/collectives.h"
#include "configs/flatten.h"

// An error on one rank alone would leave the others waiting, so agreement takes two messages: every
// rank sends what it has, or its fault, to rank 0, and gets back one verdict, on which all throw or
// none.
//
// read_alike() has two such rounds. In the first the first reader reads alone, and the others get
// its result; in the second the other readers read the same and compare. Whatever is wrong with the
// files is thus reported once, and caches that the first reader writes are there for the others.

namespace penstock::runtime {
namespace {

constexpr std::string_view kOfTheMachine[] = {"data.cache", "data.loaders", "trainer.device",
                                              "trainer.threads"};

constexpr char kEnd = '\0';  // ends each key and each value

std::string packed(const configs::FlatConfig& config) {
  std::string text;
  for (const auto& [key, value] : config)
    if (std::ranges::find(kOfTheMachine, key) == std::end(kOfTheMachine))
      text += key + kEnd + value + kEnd;
  return text;
}

configs::FlatConfig unpacked(std::string_view text) {
  const auto take = [&text] {
    const std::string_view part = text.substr(0, text.find(kEnd));
    text.remove_prefix(part.size() + 1);
    return std::string(part);
  };
  configs::FlatConfig config;
  while (!text.empty()) {
    const std::string key = take();
    config[key] = take();
  }
  return config;
}

/// Returns the value in quotes. A key may be unknown on a rank with another version of penstock.
std::string shown(const configs::FlatConfig& config, const std::string& key) {
  const auto found = config.find(key);
  return found == config.end() ? "unknown" : fmt::format("\"{}\"", found->second);
}

/// Compares the packed recipes of all ranks.
void require_same(const std::vector<std::string>& all) {
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    const configs::FlatConfig first = unpacked(all[0]), other = unpacked(all[rank]);
    configs::FlatConfig keys = first;
    keys.insert(other.begin(), other.end());
    for (const auto& [key, value] : keys) {
      if (shown(first, key) == shown(other, key)) continue;
      throw ConfigError(fmt::format(
          "the ranks were started with different recipes: {} is {} on rank 0 and {} on rank {}: "
          "give every rank the same recipe and overrides",
          key, shown(first, key), shown(other, key), rank));
    }
  }
}

std::string in_words(const comm::Communicator& world) {
  return fmt::format("rank {}", world.rank());
}

/// Returns the result of `read`. If it throws DataError, stores the message in `fault` and returns
/// an empty text.
std::string read_or_fault(const comm::Communicator& world, const std::function<std::string()>& read,
                          std::string& fault) try {
  return read();
} catch (const DataError& error) {
  fault = world.rank() == 0 ? error.what() : fmt::format("{}: {}", in_words(world), error.what());
  return {};
}

}  // namespace

void require_same_recipe(comm::Communicator& world, const configs::Config& config) {
  const std::vector<std::string> all = comm::gather(world, packed(configs::flatten(config)));
  comm::run_on_rank_0(world, [&] { require_same(all); });
}

void throw_together(comm::Communicator& world, const std::string& fault) {
  const std::vector<std::string> all = comm::gather(world, fault);
  const auto first = std::ranges::find_if(all, [](const std::string& f) { return !f.empty(); });
  const std::string said = comm::broadcast(world, first == all.end() ? std::string() : *first);
  if (!said.empty()) throw DataError(said);
}

std::string read_alike(comm::Communicator& world, const Reading& reading,
                       const std::function<std::string()>& read) {
  const int first = reading.readers.front(), here = world.rank();
  std::string found, fault;
  if (here == first) found = read_or_fault(world, read, fault);
  throw_together(world, fault);
  std::string told = comm::broadcast(world, found, first);
  if (reading.readers.size() == 1) return told;

  if (here != first && std::ranges::count(reading.readers, here) > 0 &&
      read_or_fault(world, read, fault) != told && fault.empty())
    fault =
        fmt::format("{} that {} finds differ from those of rank {}: give every rank the same files",
                    reading.what, in_words(world), first);
  throw_together(world, fault);
  return told;
}

void share_epoch(comm::Communicator& world, StepSequence& steps, std::int64_t epoch) {
  if (world.size() == 1) return;
  const bool leads = world.rank() == 0;
  const std::string bytes = comm::broadcast(world, leads ? steps.bytes_of(epoch) : "");
  if (!leads) steps.take(epoch, bytes);
}

}  // namespace penstock::runtime
