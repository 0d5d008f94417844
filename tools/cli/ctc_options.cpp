#include "tools/cli/ctc_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "runtime/decoding/hot_words.h"
#include "tools/cli/options.h"

namespace penstock::tools {
namespace {

constexpr double kLeast = -1000;  // logarithms; a lower one prunes nothing

/// Adds a language model and its weights.
void takes_language_model(CLI::App* command, runtime::CtcDecoding& decoding) {
  const runtime::WordScoring usual;
  const Limits any{kLeast, -kLeast};
  command->add_option("--lm", decoding.lm,
                      "Beam search of CTC: an n-gram language model of words, in ARPA's or "
                      "KenLM's format");
  takes_number(command->add_option("--lm-weight", decoding.lm_weight,
                                   fmt::format("Weight of the language model's log-probability. "
                                               "Default: {:g}",
                                               usual.lm_weight)),
               any);
  takes_number(command->add_option("--word-score", decoding.word_score,
                                   fmt::format("Score that each word adds, beside a language "
                                               "model. Default: {:g}",
                                               usual.word_score)),
               any);
  takes_number(command->add_option("--unknown-score", decoding.unknown_score,
                                   fmt::format("Added to the log10 probability of a word that the "
                                               "language model lacks. Default: {:g}",
                                               usual.unknown_score)),
               any);
}

/// Adds words that are expected.
void takes_hot_words(CLI::App* command, runtime::CtcDecoding& decoding) {
  command->add_option("--hot-words", decoding.hot_words,
                      "Beam search of CTC: a file of expected words or phrases, one a line");
  takes_number(command->add_option(
                   "--hot-score", decoding.hot_score,
                   fmt::format("Score that each of them adds. Default: {:g}", runtime::kHotScore)),
               {kLeast, -kLeast});
}

}  // namespace

void takes_ctc_decoding(CLI::App* command, runtime::CtcDecoding& decoding) {
  const runtime::CtcBeamOptions usual;
  takes_number(
      command->add_option(
          "--label-floor", decoding.label_floor,
          fmt::format("Beam search of CTC: labels of a frame with a lower log-probability are "
                      "left out, but for the likeliest. Default: {:g}",
                      usual.label_floor)),
      {kLeast, 0});
  takes_number(
      command->add_option(
          "--score-range", decoding.score_range,
          fmt::format("Beam search of CTC: texts whose score is lower than the best one's by more "
                      "are dropped at each frame. Default: {:g}",
                      usual.score_range)),
      {0, -kLeast});
  takes_language_model(command, decoding);
  takes_hot_words(command, decoding);
}

}  // namespace penstock::tools
