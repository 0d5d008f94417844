#include "runtime/corpus/corpus_window.h"

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

Corpus window_of(const Corpus& corpus, std::size_t first, std::size_t end) {
  std::vector<AudioLength> lengths;
  for (std::size_t id = first; id < end; ++id) lengths.push_back(corpus.lengths[id]);
  const auto of_window = [first](const auto& of_corpus) {
    return [first, of_corpus](std::uint64_t id) { return of_corpus(first + id); };
  };
  Corpus window;
  window.lengths = lengths;
  if (corpus.audio) window.audio = of_window(corpus.audio);
  if (corpus.text) window.text = of_window(corpus.text);
  if (corpus.labels) window.labels = of_window(corpus.labels);
  if (corpus.prompt) window.prompt = of_window(corpus.prompt);
  if (corpus.where) window.where = of_window(corpus.where);
  return window;
}

}  // namespace penstock::runtime
