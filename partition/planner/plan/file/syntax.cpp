#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/name_match.h"
#include "configs/toml_check.h"
#include "partition/planner/plan/file/plan_source.h"

// The file's form is shown in plan_file.cpp. Reading goes on after a fault, with a value of the
// right type. Each key that a rule may object to leaves its line in the source, so that rules.cpp
// can point at it.

namespace penstock::partition {
namespace {

int line_of(const toml::node& node) { return static_cast<int>(node.source().begin.line); }

/// Table takes the keys of one TOML table one by one. The keys that are not taken are unknown.
class Table {
 public:
  Table(const toml::table& table, PlanSource& source, std::string where)
      : table_(table), source_(source), where_(std::move(where)) {}

  /// Returns the value of a key. Returns nothing, after adding a fault, if it is missing or has
  /// another type.
  template <class T>
  std::optional<T> take(std::string_view key, const char* expected, int* line = nullptr) {
    const toml::node* node = find(key);
    if (node == nullptr) {
      source_.fault(line_of(table_), fmt::format("{}{} is missing", where_, key));
      return std::nullopt;
    }
    if (line != nullptr) *line = line_of(*node);
    auto value = node->value_exact<T>();
    if (!value) expect(*node, key, expected);
    return value;
  }

  /// Returns a whole number from `min` to 2^30, or `min` after a fault.
  int take_count(std::string_view key, int min, int* line = nullptr) {
    const auto value = take<std::int64_t>(key, "a whole number", line);
    if (!value) return min;
    if (*value >= min && *value <= 1 << 30) return static_cast<int>(*value);
    source_.fault(line_of(*table_.get(key)),
                  fmt::format("{}{} = {}: expected at least {}", where_, key, *value, min));
    return min;
  }

  /// Returns the list of a required key and sets `line`. Returns null after a fault.
  const toml::array* take_array(std::string_view key, int* line) {
    const toml::node* node = find(key);
    if (node == nullptr) {
      source_.fault(line_of(table_), fmt::format("{}{} is missing", where_, key));
      return nullptr;
    }
    *line = line_of(*node);
    if (!node->is_array()) expect(*node, key, "a list");
    return node->as_array();
  }

  /// Returns null if the key is absent.
  const toml::table* take_table(std::string_view key) {
    const toml::node* node = find(key);
    if (node != nullptr && !node->is_table()) expect(*node, key, "a table");
    return node == nullptr ? nullptr : node->as_table();
  }

  /// Adds a fault for each key that was not taken, with the nearest of those that could have been.
  void require_nothing_more() {
    for (const auto& [key, node] : table_) {
      if (std::ranges::count(taken_, key.str()) != 0) continue;
      const std::string near = nearest(key.str(), taken_);
      source_.fault(static_cast<int>(key.source().begin.line),
                    fmt::format("unknown key {}{}{}", where_, key.str(),
                                near.empty() ? "" : fmt::format("; did you mean {}?", near)));
    }
  }

 private:
  const toml::node* find(std::string_view key) {
    taken_.push_back(key);
    return table_.get(key);
  }
  void expect(const toml::node& node, std::string_view key, const char* expected) {
    source_.fault(line_of(node), fmt::format("{}{} must be {}", where_, key, expected));
  }

  const toml::table& table_;
  PlanSource& source_;
  std::string where_;  // such as "chunk."
  std::vector<std::string_view> taken_;
};

/// Returns the items of a list that have the type. Each other item is a fault at its own line.
template <class T>
std::vector<T> items_of(const toml::array& list, PlanSource& source, const char* expected) {
  std::vector<T> items;
  for (const toml::node& item : list) {
    if (const auto value = item.value_exact<T>()) {
      items.push_back(*value);
    } else {
      source.fault(line_of(item), fmt::format("expected {}", expected));
    }
  }
  return items;
}

/// Reads the rows of ranks. That they are all of one length is a rule, not syntax.
void read_ranks(const toml::array& rows, PlanSource& source) {
  for (const toml::node& row : rows) {
    if (!row.is_array()) {
      source.fault(line_of(row), "ranks must be a list of lists of ranks");
      continue;
    }
    std::vector<int>& ranks = source.plan.ranks.emplace_back();
    for (const std::int64_t rank :
         items_of<std::int64_t>(*row.as_array(), source, "a rank, a whole number")) {
      if (!std::in_range<int>(rank))
        source.fault(line_of(row), fmt::format("ranks names {}, which is no rank", rank));
      ranks.push_back(static_cast<int>(rank));
    }
  }
}

/// Reads the optional keys.
void read_settings(const toml::table& file, Table& keys, PlanSource& source) {
  if (file.contains("order")) {
    if (const auto* order = keys.take_array("order", &source.order_line)) {
      const auto places =
          items_of<std::int64_t>(*order, source, "the place of a micro-batch, a whole number");
      for (const std::int64_t place : places) {
        if (std::in_range<int>(place))
          source.plan.order.push_back(static_cast<int>(place));
        else
          source.fault(source.order_line, fmt::format("order names {}, which is no micro-batch of "
                                                      "a step",
                                                      place));
      }
    }
  }
  if (file.contains("recompute_within"))
    source.plan.recomputes_within = keys.take<bool>("recompute_within", "true or false");
  if (file.contains("resident")) source.plan.resident = keys.take_count("resident", 1);
  if (file.contains("bucket_bytes"))
    source.plan.bucket_bytes = keys.take_count("bucket_bytes", 4096);
  if (file.contains("shard_optimizer"))
    source.plan.shards_optimizer = keys.take<bool>("shard_optimizer", "true or false");
  if (file.contains("micro_batch_seconds"))
    source.plan.micro_batch_seconds =
        keys.take<double>("micro_batch_seconds", "a number with a point",
                          &source.micro_batch_seconds_line)
            .value_or(0);
  if (!file.contains("actions")) return;
  if (const auto* rows = keys.take_array("actions", &source.actions_line))
    source.plan.actions =
        items_of<std::string>(*rows, source, "a stage's actions, such as \"0F0,0B0,0W0\"");
}

/// Reads [chunk.predicted]. The file's word for bytes that sharding spares is spared_bytes, and it
/// stands there only above 0, as does host_bytes.
ChunkEstimate prediction_of(const toml::table& table, PlanSource& source) {
  Table keys(table, source, "chunk.predicted.");
  ChunkEstimate predicted;
  predicted.time_share = keys.take<double>("time_share", "a number with a point").value_or(0);
  predicted.parameters = keys.take<std::int64_t>("parameters", "a whole number").value_or(0);
  StageBytes& bytes = predicted.bytes;
  const auto take = [&](const char* key) {
    return static_cast<std::size_t>(keys.take<std::int64_t>(key, "a whole number").value_or(0));
  };
  bytes.weights = take("weights_bytes");
  bytes.gradients = take("gradients_bytes");
  bytes.optimizer = take("optimizer_bytes");
  bytes.state = take("state_bytes");
  bytes.saved = take("saved_bytes");
  bytes.messages = take("messages_bytes");
  bytes.scratch = take("scratch_bytes");
  bytes.reduction = take("reduction_bytes");
  if (table.contains("spared_bytes")) bytes.sharded_away = take("spared_bytes");
  if (table.contains("host_bytes")) bytes.host = take("host_bytes");
  keys.require_nothing_more();
  return predicted;
}

/// Appends a chunk and the lines of its keys, at the same index of both lists.
void read_chunk(const toml::node& node, PlanSource& source) {
  if (!node.is_table()) {
    source.fault(line_of(node), "chunk must be written as [[chunk]]");
    return;
  }
  Table keys(*node.as_table(), source, "chunk.");
  PlanSource::ChunkLines lines;
  ChunkPlan chunk;
  chunk.stage = keys.take_count("stage", 0, &lines.stage);
  if (const auto* layers = keys.take_array("layers", &lines.layers)) {
    chunk.layers = items_of<std::string>(*layers, source, "a layer's name");
  }
  if (node.as_table()->contains("recompute")) {
    if (const auto* layers = keys.take_array("recompute", &lines.recompute))
      chunk.recomputed = items_of<std::string>(*layers, source, "a layer's name");
  }
  if (const auto* predicted = keys.take_table("predicted")) {
    chunk.predicted = prediction_of(*predicted, source);
  }
  keys.require_nothing_more();
  source.plan.chunks.push_back(std::move(chunk));
  source.chunk_lines.push_back(lines);
}

}  // namespace

void PlanSource::fault(int line, const std::string& what) {
  faults.push_back(fmt::format("{}:{}: {}", name, line, what));
}

PlanSource plan_of_toml(const std::string& text, const std::string& name) {
  PlanSource source;
  source.name = name;
  if (const auto fault = configs::find_toml_fault(text)) {
    source.fault(fault->line, "not TOML: " + fault->what);
    return source;
  }
  toml::table file;
  try {
    file = toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    source.fault(static_cast<int>(error.source().begin.line),
                 "not TOML: " + std::string(error.description()));
    return source;
  }
  Table keys(file, source, "");
  Plan& plan = source.plan;
  plan.model = keys.take<std::string>("model", "text", &source.model_line).value_or("");
  plan.schedule = keys.take<std::string>("schedule", "text", &source.schedule_line).value_or("");
  plan.micro_batches = keys.take_count("micro_batches", 1, &source.micro_batches_line);
  plan.lanes = keys.take_count("lanes", 1, &source.lanes_line);
  read_settings(file, keys, source);
  if (const auto* ranks = keys.take_array("ranks", &source.ranks_line)) read_ranks(*ranks, source);
  int line = 0;
  if (const auto* chunks = keys.take_array("chunk", &line)) {
    for (const toml::node& chunk : *chunks) read_chunk(chunk, source);
  }
  keys.require_nothing_more();
  return source;
}

// Files name a member by these words, with "_bytes" at the end.
std::vector<std::pair<std::string, std::size_t>> kinds_of_bytes(const StageBytes& bytes) {
  std::vector<std::pair<std::string, std::size_t>> kinds = {
      {"weights", bytes.weights}, {"gradients", bytes.gradients}, {"optimizer", bytes.optimizer},
      {"state", bytes.state},     {"saved", bytes.saved},         {"messages", bytes.messages},
      {"scratch", bytes.scratch}, {"reduction", bytes.reduction}};
  if (bytes.sharded_away > 0) kinds.emplace_back("spared", bytes.sharded_away);
  if (bytes.host > 0) kinds.emplace_back("host", bytes.host);
  return kinds;
}

// TOML reads a number without a point or an exponent as an integer, which keys of real numbers do
// not take.
std::string toml_number(double number) {
  const std::string text = fmt::format("{}", number);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

}  // namespace penstock::partition
