#include "runtime/corpus/sample_corpus.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "runtime/data/batch/sample_hash.h"

namespace penstock::runtime {
namespace {

/// Returns the `count` ids with the smallest hashes, in ascending order.
std::vector<std::uint32_t> sampled_ids(std::size_t of, std::size_t count) {
  std::vector<std::uint32_t> ids(of);
  std::iota(ids.begin(), ids.end(), 0u);
  const auto by_hash = [](std::uint32_t id) {
    return std::pair(sample_hash(SampleKind::validation, 0, {id}), id);
  };
  const auto end = ids.begin() + static_cast<std::ptrdiff_t>(count);
  std::ranges::nth_element(ids, end, {}, by_hash);
  ids.erase(end, ids.end());
  std::ranges::sort(ids);
  return ids;
}

}  // namespace

Corpus sample_corpus(Corpus corpus, std::int64_t utterances) {
  const auto count = static_cast<std::size_t>(utterances);
  if (count == 0 || count >= corpus.size()) return corpus;
  const auto ids =
      std::make_shared<const std::vector<std::uint32_t>>(sampled_ids(corpus.size(), count));
  std::vector<AudioLength> lengths;
  for (const std::uint32_t id : *ids) lengths.push_back(corpus.lengths[id]);
  const auto of_sample = [&ids](const auto& of_corpus) {
    return [ids, of_corpus](std::uint64_t id) { return of_corpus(ids->at(id)); };
  };
  if (corpus.audio) corpus.audio = of_sample(corpus.audio);
  if (corpus.text) corpus.text = of_sample(corpus.text);
  if (corpus.labels) corpus.labels = of_sample(corpus.labels);
  if (corpus.where) corpus.where = of_sample(corpus.where);
  corpus.lengths = lengths;
  corpus.hash = sample_hash(SampleKind::validation, corpus.hash, {count});
  return corpus;
}

}  // namespace penstock::runtime
