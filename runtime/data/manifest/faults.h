#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace penstock::runtime {

/// Describes one problem with one line, file or utterance.
struct Fault {
  std::string where;  // "train.jsonl:17"
  std::string what;
};

/// Collects faults while reading continues, so that all can be reported at once.
class Faults {
 public:
  void add(std::string where, std::string what);
  bool empty() const { return faults_.empty(); }
  std::size_t size() const { return faults_.size(); }
  const std::vector<Fault>& all() const { return faults_; }

  /// Formats the faults as lines "where: what", at most `kListed`, then "and N more".
  [[nodiscard]] std::string listed() const;

  /// Throws DataError with `headline`, the faults and `advice` if there are any faults.
  void require_none(const std::string& headline, const std::string& advice = {}) const;

  static constexpr std::size_t kListed = 20;

 private:
  std::vector<Fault> faults_;
};

}  // namespace penstock::runtime
