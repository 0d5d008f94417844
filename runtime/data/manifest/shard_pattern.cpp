#include "runtime/data/manifest/shard_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/error.h"

// A pattern has groups in brackets: a range {0..511}, {000..511} or {0..510..2}, or a list {a,b}.
// They are expanded as bash expands braces, but for letters and negative numbers, which stay. NeMo
// also accepts _OP_ and _CL_ for braces, since a shell expands those before a program sees them,
// and ( ) [ ] < > (expand_sharded_filepaths in nemo/collections/asr/data/audio_to_text.py).
// Brackets around anything else are plain characters, so that "data (1)/train.json" is a path.
//
// The first group is replaced by each of its alternatives, and what comes out is expanded again.
// Each replacement removes a pair of brackets, so this ends.

namespace penstock::runtime {
namespace {

constexpr std::size_t kMostShards = 100'000;

constexpr std::pair<std::string_view, std::string_view> kBrackets[] = {
    {"_OP_", "_CL_"}, {"{", "}"}, {"(", ")"}, {"[", "]"}, {"<", ">"}};

/// A group of a pattern: the place of its brackets, and what may stand there.
struct ShardGroup {
  std::size_t first = 0, end = 0;
  std::vector<std::string> alternatives;
};

[[noreturn]] void refuse_number(std::string_view pattern) {
  throw DataError(fmt::format("manifest {}: stands for more than {} files: name fewer at a time",
                              pattern, kMostShards));
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = fault == std::errc() && end == text.data() + text.size() && text[0] != '-';
  return whole ? std::optional(number) : std::nullopt;
}

bool is_padded(std::string_view number) { return number.size() > 1 && number[0] == '0'; }

/// Returns the numbers of "0..511", "000..511" or "0..510..2"; none if the text is no range. Errors
/// name the pattern.
std::vector<std::string> numbers_between(std::string_view text, std::string_view pattern) {
  constexpr std::string_view kDots = "..";
  const std::size_t at = text.find(kDots);
  if (at == std::string_view::npos) return {};
  const std::string_view low = text.substr(0, at);
  std::string_view high = text.substr(at + kDots.size()), by = "1";
  if (const std::size_t more = high.find(kDots); more != std::string_view::npos)
    by = std::exchange(high, high.substr(0, more)).substr(more + kDots.size());
  const auto first = whole_number(low), last = whole_number(high), step = whole_number(by);
  if (!first || !last || !step || *step == 0) return {};
  const std::int64_t distance = std::max(*first, *last) - std::min(*first, *last);
  const std::int64_t steps = distance / *step;
  if (steps >= static_cast<std::int64_t>(kMostShards)) refuse_number(pattern);
  const std::size_t width =
      is_padded(low) || is_padded(high) ? std::max(low.size(), high.size()) : 0;
  std::vector<std::string> numbers;
  for (std::int64_t i = 0; i <= steps; ++i) {
    const std::int64_t covered = i * *step;  // at most the distance
    numbers.push_back(
        fmt::format("{:0{}}", *first < *last ? *first + covered : *first - covered, width));
  }
  return numbers;
}

/// Returns the items of "a,b"; none if no comma stands outside of inner brackets.
std::vector<std::string> items_between(std::string_view text, std::string_view opener,
                                       std::string_view closer) {
  std::vector<std::string> items(1);
  for (std::size_t at = 0, depth = 0; at < text.size(); ++at) {
    if (text.substr(at).starts_with(opener)) ++depth;
    if (text.substr(at).starts_with(closer) && depth > 0) --depth;
    if (text[at] == ',' && depth == 0)
      items.emplace_back();
    else
      items.back() += text[at];
  }
  return items.size() > 1 ? items : std::vector<std::string>();
}

/// Returns the place of the bracket that closes the one before `from`.
std::size_t closing_place(std::string_view text, std::size_t from, std::string_view opener,
                          std::string_view closer) {
  for (std::size_t at = from, depth = 0; at < text.size(); ++at) {
    if (text.substr(at).starts_with(opener)) ++depth;
    if (text.substr(at).starts_with(closer) && depth-- == 0) return at;
  }
  return std::string_view::npos;
}

/// Returns the group whose first bracket stands at `at`, if any.
std::optional<ShardGroup> group_at(std::string_view text, std::size_t at,
                                   std::string_view pattern) {
  for (const auto& [opener, closer] : kBrackets) {
    if (!text.substr(at).starts_with(opener)) continue;
    const std::size_t first = at + opener.size();
    const std::size_t end = closing_place(text, first, opener, closer);
    if (end == std::string_view::npos) continue;
    const std::string_view within = text.substr(first, end - first);
    ShardGroup group{at, end + closer.size(), numbers_between(within, pattern)};
    if (group.alternatives.empty()) group.alternatives = items_between(within, opener, closer);
    if (!group.alternatives.empty()) return group;
  }
  return std::nullopt;
}

/// Returns the first group of a text that a pattern became. Errors name the pattern.
std::optional<ShardGroup> first_group(std::string_view text, std::string_view pattern) {
  for (std::size_t at = 0; at < text.size(); ++at)
    if (auto group = group_at(text, at, pattern)) return group;
  return std::nullopt;
}

void expand(const std::string& text, std::string_view pattern, std::vector<std::string>& paths) {
  const auto group = first_group(text, pattern);
  if (paths.size() >= kMostShards) refuse_number(pattern);
  if (!group) return paths.push_back(text);
  for (const std::string& alternative : group->alternatives)
    expand(text.substr(0, group->first) + alternative + text.substr(group->end), pattern, paths);
}

}  // namespace

bool is_shard_pattern(std::string_view path) { return first_group(path, path).has_value(); }

std::vector<std::string> expand_shards(std::string_view pattern) {
  std::vector<std::string> paths;
  expand(std::string(pattern), pattern, paths);
  return paths;
}

}  // namespace penstock::runtime
