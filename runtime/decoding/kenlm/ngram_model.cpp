#include "runtime/decoding/ngram_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <lm/enumerate_vocab.hh>
#include <lm/model.hh>
#include <util/mmap.hh>
#include <utility>

#include "base/error.h"
#include "base/file_handle.h"
#include "base/mapped_file.h"

// KenLM tells a binary file from ARPA's text by itself. Its state is a plain struct, whose size
// depends on the highest order that the library was built for. A binary file is mapped, and its
// pages are read when they are used.

namespace penstock::runtime {
namespace {

// The least logarithm of a probability, which KenLM gives an unknown word that a file lacks. Files
// may say -inf or nan, which no text could be compared by.
constexpr double kLeast = -100;

/// Collects the words of a model while it is read.
class Words : public lm::EnumerateVocab {
 public:
  void Add(lm::WordIndex, const StringPiece& word) override {
    const std::string text(word.data(), word.size());
    if (text != "<unk>" && text != "<s>" && text != "</s>") words.push_back(text);
  }

  std::vector<std::string> words;
};

class KenlmModel final : public NgramModel {
 public:
  explicit KenlmModel(const std::filesystem::path& path) {
    Words words;
    lm::ngram::Config config;
    config.show_progress = false;
    config.messages = nullptr;
    config.arpa_complain = lm::ngram::Config::NONE;
    config.unknown_missing = lm::SILENT;
    config.load_method = util::LAZY;
    config.enumerate_vocab = &words;
    model_.reset(lm::ngram::LoadVirtual(path.c_str(), config));
    words_ = std::move(words.words);
    if (model_->StateSize() > sizeof(NgramState))
      throw ConfigError(fmt::format("its state takes {} bytes, and {} are kept",
                                    model_->StateSize(), sizeof(NgramState)));
  }

  int order() const override { return model_->Order(); }
  const std::vector<std::string>& words() const override { return words_; }
  std::uint32_t number(std::string_view word) const override {
    return model_->BaseVocabulary().Index(StringPiece(word.data(), word.size()));
  }
  NgramState start() const override {
    NgramState state;
    model_->BeginSentenceWrite(&state);
    return state;
  }
  NgramStep step(const NgramState& before, std::uint32_t word) const override {
    NgramStep next;
    const auto log10 = static_cast<double>(model_->BaseScore(&before, word, &next.after));
    next.log10 = log10 > kLeast ? log10 : kLeast;  // also for one that is no number
    return next;
  }
  double end(const NgramState& state) const override {
    return step(state, model_->BaseVocabulary().EndSentence()).log10;
  }

 private:
  std::unique_ptr<lm::base::Model> model_;
  std::vector<std::string> words_;
};

}  // namespace

std::shared_ptr<const NgramModel> read_ngram_model(const std::filesystem::path& path) try {
  (void)map_file(path);
  auto model = std::make_shared<const KenlmModel>(path);
  if (model->words().empty())
    throw ConfigError(
        "it has no words, which a beam search needs: make a binary file with its vocabulary");
  return model;
} catch (const FileError& error) {
  throw ConfigError(fmt::format("--lm: {}", error.what()));
} catch (const ConfigError& error) {
  throw ConfigError(fmt::format("--lm {}: {}", path.string(), error.what()));
} catch (const std::exception& error) {
  throw ConfigError(
      fmt::format("--lm {}: KenLM can't read it: {}. It reads models of 2 to {} words in ARPA's "
                  "format or its own, not compressed ones: gunzip those",
                  path.string(), error.what(), KENLM_MAX_ORDER));
}

bool reads_ngram_models() { return true; }

}  // namespace penstock::runtime
