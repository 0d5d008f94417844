#include "runtime/text/train_pieces.h"

#include <fmt/format.h>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <set>
#include <string_view>
#include <unordered_map>

#include "base/counted.h"
#include "base/error.h"
#include "base/utf8.h"

namespace penstock::runtime {
namespace {

constexpr char32_t kReserved = U'\u2585';  // the library skips texts that contain it

constexpr const char* kLongest = "1073741824";  // bytes of a text; the library's bound

class Texts : public sentencepiece::SentenceIterator {
 public:
  explicit Texts(const std::vector<std::string>& texts) : texts_(texts) {}
  bool done() const override { return at_ == texts_.size(); }
  void Next() override { ++at_; }
  const std::string& value() const override { return texts_[at_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  const std::vector<std::string>& texts_;
  std::size_t at_ = 0;
};

/// Returns the fewest possible pieces: one per character, including the space, and <unk>.
int min_pieces(const std::vector<std::string>& texts) {
  std::set<char32_t> characters{U' '};
  for (const std::string& text : texts)
    for (const char32_t character : from_utf8(text)) characters.insert(character);
  if (characters.size() == 1)
    throw DataError("the transcripts are empty: there is nothing to train pieces on");
  if (characters.contains(kReserved))
    throw DataError(
        fmt::format("the transcripts have '{}' (U+2585), which SentencePiece keeps for itself: "
                    "replace it by another character",
                    to_utf8({&kReserved, 1})));
  return static_cast<int>(characters.size()) + 1;
}

std::unordered_map<std::string, std::string> options_of(const PieceTraining& training) {
  return {{"model_type", training.kind},
          {"vocab_size", fmt::format("{}", training.pieces)},
          {"hard_vocab_limit", "false"},  // the number of pieces is checked below
          {"normalization_rule_name", "identity"},
          {"character_coverage", "1"},
          {"byte_fallback", "false"},
          {"bos_id", "-1"},
          {"eos_id", "-1"},
          {"max_sentence_length", kLongest},
          {"num_threads", "1"},
          {"minloglevel", "2"}};
}

}  // namespace

std::string train_pieces(const std::vector<std::string>& texts, const PieceTraining& training) {
  if (training.kind != "unigram" && training.kind != "bpe")
    throw ConfigError(fmt::format("pieces of kind \"{}\"; known are unigram, bpe", training.kind));
  const int min = min_pieces(texts);
  if (training.pieces < min)
    throw ConfigError(fmt::format(
        "{} are too few: each character of the transcripts, a space and <unk> need one, "
        "which are {}",
        counted(training.pieces, "piece"), min));
  Texts iterator(texts);
  std::string model;
  const auto trained =
      sentencepiece::SentencePieceTrainer::Train(options_of(training), &iterator, &model);
  sentencepiece::SentencePieceProcessor made;
  const auto status = trained.ok() ? made.LoadFromSerializedProto(model) : trained;
  if (!status.ok())
    throw DataError(fmt::format("no pieces can be made of the transcripts: {}", status.message()));
  if (made.GetPieceSize() < training.pieces)
    throw ConfigError(fmt::format(
        "{} are too many for so little text: the transcripts give at most {} of kind {}",
        counted(training.pieces, "piece"), made.GetPieceSize(), training.kind));
  return model;
}

}  // namespace penstock::runtime
