#include "runtime/trainer/agreement.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "comm/collectives.h"
#include "configs/flatten.h"
#include "layers/tensor/error.h"

namespace penstock {
namespace {

constexpr std::string_view kOfTheMachine[] = {"data.loaders", "trainer.device", "trainer.threads"};

constexpr char kEnd = '\0';  // of a key, and of a value

std::string packed(const FlatConfig& config) {
  std::string text;
  for (const auto& [key, value] : config)
    if (std::ranges::find(kOfTheMachine, key) == std::end(kOfTheMachine))
      text += key + kEnd + value + kEnd;
  return text;
}

FlatConfig unpacked(std::string_view text) {
  const auto take = [&text] {
    const std::string_view part = text.substr(0, text.find(kEnd));
    text.remove_prefix(part.size() + 1);
    return std::string(part);
  };
  FlatConfig config;
  while (!text.empty()) {
    const std::string key = take();
    config[key] = take();
  }
  return config;
}

/// The value in quotes; of another version of penstock, a key may be unknown.
std::string shown(const FlatConfig& config, const std::string& key) {
  const auto found = config.find(key);
  return found == config.end() ? "unknown" : '"' + found->second + '"';
}

}  // namespace

void agree_on_recipe(Communicator& world, const Config& config) {
  const std::vector<std::string> all = gather(world, packed(flatten(config)));
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    const FlatConfig first = unpacked(all[0]), other = unpacked(all[rank]);
    FlatConfig keys = first;
    keys.insert(other.begin(), other.end());
    for (const auto& [key, value] : keys) {
      if (shown(first, key) == shown(other, key)) continue;
      throw ConfigError("the ranks were started with different recipes: " + key + " is " +
                        shown(first, key) + " on rank 0 and " + shown(other, key) + " on rank " +
                        std::to_string(rank) + ": give every rank the same recipe and overrides");
    }
  }
}

std::string read_alike(Communicator& world, const Reading& reading,
                       const std::function<std::string(bool first)>& read) {
  const int first = reading.readers.front(), here = world.rank();
  std::string told = broadcast(world, here == first ? read(true) : std::string(), first);
  const bool reads_too = here != first && std::ranges::count(reading.readers, here) > 0;
  if (reads_too && read(false) != told)
    throw DataError(reading.what + " that rank " + std::to_string(here) +
                    " finds differ from those of rank " + std::to_string(first) +
                    ": give every rank the same files");
  return told;
}

}  // namespace penstock
