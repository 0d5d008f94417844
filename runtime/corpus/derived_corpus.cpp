#include "runtime/corpus/derived_corpus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "runtime/data/batch/sample_hash.h"
#include "runtime/data/index/stream_hash.h"

// A corpus gives its members by functions of an id, so corpora can be joined and sampled without
// copying them. A joined corpus has the ids of its parts one after another and looks up the part by
// binary search. A sample keeps a list of ids.

namespace penstock::runtime {
namespace {

/// A function of an utterance's id.
template <class Result>
using OfUtterance = std::function<Result(std::uint64_t)>;

/// Dispatches an id to the function of the corpus that holds it.
template <class Result>
struct OfCorpora {
  std::vector<std::uint64_t> firsts;  // first id of each corpus
  std::vector<OfUtterance<Result>> functions;

  Result operator()(std::uint64_t id) const {
    const auto next = std::ranges::upper_bound(firsts, id);
    const auto corpus = static_cast<std::size_t>(next - firsts.begin()) - 1;
    return functions[corpus](id - firsts[corpus]);
  }
};

/// Joins a function of all corpora. Returns an empty one if this rank does not read that part.
template <class Result>
OfUtterance<Result> joined(const std::vector<Corpus>& corpora,
                           OfUtterance<Result> Corpus::*function) {
  OfCorpora<Result> all;
  std::uint64_t first = 0;
  for (const Corpus& corpus : corpora) {
    if (!(corpus.*function)) return {};
    all.firsts.push_back(std::exchange(first, first + corpus.size()));
    all.functions.push_back(corpus.*function);
  }
  return all;
}

Corpus join(const std::vector<WeightedManifest>& manifests, const std::vector<Corpus>& corpora) {
  Corpus all;
  StreamHash hash;
  for (std::size_t i = 0; i < corpora.size(); ++i) {
    const Corpus& corpus = corpora[i];
    all.parts.push_back({manifests[i].manifest, corpus.size()});
    all.files = corpus.files;  // of the same recipe
    all.lengths.append(corpus.lengths);
    all.too_short += corpus.too_short;
    all.too_long += corpus.too_long;
    all.skipped += corpus.skipped;
    all.most_labels = std::max(all.most_labels, corpus.most_labels);
    all.all_labels += corpus.all_labels;
    hash.add({reinterpret_cast<const char*>(&corpus.hash), sizeof corpus.hash});
  }
  all.audio = joined(corpora, &Corpus::audio);
  all.text = joined(corpora, &Corpus::text);
  all.labels = joined(corpora, &Corpus::labels);
  all.where = joined(corpora, &Corpus::where);
  all.prompt = joined(corpora, &Corpus::prompt);
  all.hash = hash.digest();
  return all;
}

std::string told(const Mixture::Part& part) {
  return fmt::format("{} {:.4g} h × {:.3g} ({:.3g} %)", part.is.manifest, part.is.seconds / 3600,
                     part.repeats(), 100 * part.share);
}

/// Returns the `count` ids with the smallest hashes, in ascending order. The hash does not depend
/// on the run's seed, so every run of this corpus validates on the same utterances. nth_element()
/// selects them in O(of) time.
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

/// Returns the parts with the numbers of their utterances among `ids`, which ascend.
std::vector<CorpusPart> sampled_parts(std::vector<CorpusPart> parts,
                                      const std::vector<std::uint32_t>& ids) {
  std::uint64_t end = 0;  // the first id after a part
  auto first = ids.begin();
  for (CorpusPart& part : parts) {
    end += part.utterances;
    const auto next = std::ranges::lower_bound(first, ids.end(), end);
    part.utterances = static_cast<std::size_t>(next - first);
    first = next;
  }
  return parts;
}

}  // namespace

Corpus mixed_corpus(const configs::DataConfig& data, const LoadManifest& load) {
  if (data.train.size() == 1) return load(data.train.front().manifest);
  std::vector<Corpus> corpora;
  std::vector<MixturePart> parts;
  for (const WeightedManifest& item : data.train) {
    const Corpus& corpus = corpora.emplace_back(load(item.manifest));
    parts.push_back({item.manifest, corpus.size(), corpus.seconds(), item.weight, item.group});
  }
  Corpus all = join(data.train, corpora);
  all.mixture = Mixture(std::move(parts),
                        {.temperature = data.temperature,
                         .group_temperature = data.group_temperature,
                         .by = data.share_by == "hours" ? ShareBy::seconds : ShareBy::utterances});
  return all;
}

Corpus joined_corpus(const std::vector<WeightedManifest>& manifests, const LoadManifest& load) {
  if (manifests.size() == 1) return load(manifests.front().manifest);
  std::vector<Corpus> corpora;
  for (const WeightedManifest& item : manifests) corpora.push_back(load(item.manifest));
  return join(manifests, corpora);
}

std::string describe_mixture(const Corpus& corpus) {
  std::vector<std::string> parts;
  for (const Mixture::Part& part : corpus.mixture.parts()) parts.push_back(told(part));
  return fmt::format("{}", fmt::join(parts, ", "));
}

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
  if (corpus.prompt) corpus.prompt = of_sample(corpus.prompt);
  if (corpus.where) corpus.where = of_sample(corpus.where);
  corpus.lengths = lengths;
  corpus.named = [ids, parts = corpus.parts](std::uint64_t id) {
    return utterance_name(parts, ids->at(id));
  };
  corpus.parts = sampled_parts(std::move(corpus.parts), *ids);
  corpus.hash = sample_hash(SampleKind::validation, corpus.hash, {count});
  return corpus;
}

}  // namespace penstock::runtime
