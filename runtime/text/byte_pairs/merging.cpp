#include "runtime/text/byte_pairs/merging.h"

#include <queue>
#include <tuple>

#include "runtime/text/byte_pairs/byte_alphabet.h"

// BPE (Sennrich et al. 2016) begins with a word's bytes and merges neighbours. The earliest merge
// in the vocabulary's list comes first, and of equal ones the leftmost. Neighbours that can be
// merged wait in a heap, and symbols form a list, so a word of n bytes takes O(n log n) steps.
// Candidates whose symbols have changed since are skipped when they come up.

namespace penstock::runtime {
namespace {

constexpr int kNone = -1;

/// A symbol of a word, with its neighbours' places. Its id is kNone once it is merged into the one
/// before it.
struct Symbol {
  std::int32_t id;
  int previous, next;
};

struct Candidate {
  std::int32_t rank;
  int at;  // place of its left symbol
  std::int32_t id;

  bool operator>(const Candidate& other) const {
    return std::tie(rank, at) > std::tie(other.rank, other.at);
  }
};

std::uint64_t key_of(std::int32_t left, std::int32_t right) {
  return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
}

}  // namespace

ByteMerging::ByteMerging(const BytePairModel& model) {
  std::unordered_map<std::string_view, std::int32_t> ids;
  for (std::size_t id = 0; id < model.tokens.size(); ++id)
    if (!model.tokens[id].empty()) ids.emplace(model.tokens[id], static_cast<std::int32_t>(id));
  for (std::size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    const char one = static_cast<char>(byte);
    const auto found = ids.find(token_of_bytes({&one, 1}));
    byte_ids_[byte] = found == ids.end() ? kNone : found->second;  // no UTF-8 has the byte then
  }
  std::int32_t rank = 0;
  for (const auto& [left, right] : model.merges)
    merges_.insert_or_assign(key_of(ids.at(left), ids.at(right)),
                             Merge{rank++, ids.at(left + right)});
  if (!model.whole_words) return;
  for (const auto& [token, id] : ids) words_.emplace(bytes_of_token(token), id);
}

const ByteMerging::Merge* ByteMerging::find(std::int32_t left, std::int32_t right) const {
  const auto found = merges_.find(key_of(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

void ByteMerging::append_ids(std::string_view word, std::vector<std::int32_t>& ids) const {
  if (const auto whole = words_.find(std::string(word)); whole != words_.end()) {
    ids.push_back(whole->second);
    return;
  }
  const int size = static_cast<int>(word.size());
  std::vector<Symbol> symbols;
  for (int i = 0; i < size; ++i)
    symbols.push_back({byte_ids_[static_cast<unsigned char>(word[static_cast<std::size_t>(i)])],
                       i - 1, i + 1 < size ? i + 1 : kNone});
  const auto symbol = [&](int at) -> Symbol& { return symbols[static_cast<std::size_t>(at)]; };
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  const auto merge_at = [&](int at) {
    const Symbol& left = symbol(at);
    return left.id == kNone || left.next == kNone ? nullptr : find(left.id, symbol(left.next).id);
  };
  const auto add_candidate = [&](int at) {
    if (const Merge* merge = merge_at(at)) candidates.push({merge->rank, at, merge->id});
  };
  for (int i = 0; i < size; ++i) add_candidate(i);
  while (!candidates.empty()) {
    const Candidate best = candidates.top();
    candidates.pop();
    const Merge* merge = merge_at(best.at);
    if (merge == nullptr || merge->id != best.id) continue;
    Symbol& left = symbol(best.at);
    Symbol& right = symbol(left.next);
    left.id = best.id;
    left.next = right.next;
    right.id = kNone;
    if (left.next != kNone) symbol(left.next).previous = best.at;
    if (left.previous != kNone) add_candidate(left.previous);
    add_candidate(best.at);
  }
  for (int at = size > 0 ? 0 : kNone; at != kNone; at = symbol(at).next)
    ids.push_back(symbol(at).id);
}

}  // namespace penstock::runtime
