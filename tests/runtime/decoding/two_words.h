#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/decoding/ngram_model.h"

namespace penstock::runtime {

/// A model of bigrams with the words "ab" and "é".
class TwoWords : public NgramModel {
 public:
  int order() const override { return 2; }
  const std::vector<std::string>& words() const override { return words_; }
  std::uint32_t number(std::string_view word) const override {
    if (word == "ab") return 1;
    return word == "é" ? 2 : kUnknown;
  }
  NgramState start() const override { return {{9}}; }
  NgramStep step(const NgramState& before, std::uint32_t word) const override {
    const double repeated = before.memory[0] == 1 ? -2 : -1;
    return {word == kUnknown ? -6 : word == 1 ? repeated : -0.5, {{word}}};
  }
  double end(const NgramState& state) const override { return state.memory[0] == 9 ? -4 : -0.25; }

 private:
  std::vector<std::string> words_ = {"é", "ab"};
};

}  // namespace penstock::runtime
