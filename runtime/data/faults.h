#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace penstock::runtime {

/// One thing wrong with one line, file or utterance.
struct Fault {
  std::string where;  // "train.jsonl:17"
  std::string what;
};

/// Faults found while reading on, so that all can be told at once.
class Faults {
 public:
  void add(std::string where, std::string what);
  bool empty() const { return faults_.empty(); }
  std::size_t size() const { return faults_.size(); }
  const std::vector<Fault>& all() const { return faults_; }

  /// "where: what" by lines, at most `kListed`, then "and N more".
  [[nodiscard]] std::string listed() const;

  /// DataError with `headline`, the faults and `advice`, if there are any.
  void require_none(const std::string& headline, const std::string& advice = {}) const;

  static constexpr std::size_t kListed = 20;

 private:
  std::vector<Fault> faults_;
};

}  // namespace penstock::runtime
