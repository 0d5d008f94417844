#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::runtime {

/// The state of an n-gram model after some words, in a form of its own.
struct NgramState {
  std::array<std::uint64_t, 8> memory = {};
};

/// A word and the state after it.
struct NgramStep {
  double log10 = 0;  // of the word's probability
  NgramState after = {};
};

/// An n-gram language model of words. Its functions may be called by several threads at once.
class NgramModel {
 public:
  static constexpr std::uint32_t kUnknown = 0;  // number of the unknown word

  NgramModel() = default;
  NgramModel(const NgramModel&) = delete;
  NgramModel& operator=(const NgramModel&) = delete;
  virtual ~NgramModel() = default;

  virtual int order() const = 0;
  /// Returns its words, without the unknown one and those that begin and end a sentence.
  virtual const std::vector<std::string>& words() const = 0;
  /// Returns the number of a word, kUnknown for one that it does not have.
  virtual std::uint32_t number(std::string_view word) const = 0;
  /// Returns the state at the start of a sentence.
  virtual NgramState start() const = 0;
  virtual NgramStep step(const NgramState& before, std::uint32_t word) const = 0;
  /// Returns the logarithm to base 10 of the probability that a sentence ends here.
  virtual double end(const NgramState& state) const = 0;
};

/// Reads a model in ARPA's format, or in KenLM's binary one, of which only the pages that are used
/// are in memory, once for all processes. ConfigError if the file can't be read or is no such
/// model, if its order is too high, and always in a penstock without KenLM.
[[nodiscard]] std::shared_ptr<const NgramModel> read_ngram_model(const std::filesystem::path& path);

/// Returns false in a penstock without KenLM.
[[nodiscard]] bool reads_ngram_models();

}  // namespace penstock::runtime
