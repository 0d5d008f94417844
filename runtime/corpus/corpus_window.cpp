#include "runtime/corpus/corpus_window.h"

#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace penstock::runtime {

// A window has at least one utterance, however long. Then it grows until the next one would exceed
// a bound.
std::size_t window_end(const WindowBounds& bounds, const WindowStart& start,
                       const std::function<double(std::size_t)>& seconds) {
  if (start.first >= start.size) return start.size;
  double sum = seconds(start.first);
  std::size_t end = start.first + 1;
  for (; end < start.size && std::cmp_less(end - start.first, bounds.utterances); ++end) {
    sum += seconds(end);
    if (sum > bounds.seconds()) break;
  }
  return end;
}

Corpus select_utterances(const Corpus& corpus, std::vector<std::uint64_t> ids) {
  std::vector<AudioLength> lengths;
  for (const std::uint64_t id : ids) lengths.push_back(corpus.lengths[id]);
  const auto chosen = std::make_shared<const std::vector<std::uint64_t>>(std::move(ids));
  const auto of_chosen = [&chosen](const auto& of_corpus) {
    return [chosen, of_corpus](std::uint64_t id) { return of_corpus(chosen->at(id)); };
  };
  Corpus selected;
  selected.lengths = lengths;
  selected.files = corpus.files;
  if (corpus.audio) selected.audio = of_chosen(corpus.audio);
  if (corpus.text) selected.text = of_chosen(corpus.text);
  if (corpus.labels) selected.labels = of_chosen(corpus.labels);
  if (corpus.prompt) selected.prompt = of_chosen(corpus.prompt);
  if (corpus.where) selected.where = of_chosen(corpus.where);
  return selected;
}

Corpus window_of(const Corpus& corpus, std::size_t first, std::size_t end) {
  std::vector<std::uint64_t> ids(end - first);
  std::iota(ids.begin(), ids.end(), first);
  return select_utterances(corpus, std::move(ids));
}

}  // namespace penstock::runtime
