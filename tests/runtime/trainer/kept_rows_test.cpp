#include "runtime/trainer/kept_rows.h"

#include <gtest/gtest.h>

#include <utility>

namespace penstock::runtime {
namespace {

constexpr std::int64_t kAnew = KeptRows::kAnew;

/// The blank, and a label for each text.
std::vector<Label> vocabulary_of(const std::vector<std::string>& texts) {
  std::vector<Label> labels(1);
  for (const std::string& text : texts) labels.push_back({text, text});
  return labels;
}

TEST(KeptRows, HaveTheLabelOfTheirSource) {
  const KeptRows rows = pair_rows(vocabulary_of({"d", "é", "a", "the"}), 5,
                                  vocabulary_of({"a", "the", "b", "d", "th"}));
  EXPECT_EQ(rows.sources, (std::vector<std::int64_t>{0, 4, kAnew, 1, 2}));
  EXPECT_EQ(rows.kept(), 4);
  EXPECT_EQ(rows.rows(), 5);
}

TEST(KeptRows, RowsBeyondTheLabelsStartAnew) {
  const KeptRows rows = pair_rows(vocabulary_of({"a"}), 4, vocabulary_of({"a", "b", "c"}));
  EXPECT_EQ(rows.sources, (std::vector<std::int64_t>{0, 1, kAnew, kAnew}));
}

TEST(KeptRows, ComeFromTheFirstOfEqualLabels) {
  const KeptRows rows = pair_rows(vocabulary_of({"b", "a"}), 3, vocabulary_of({"a", "a", "b"}));
  EXPECT_EQ(rows.sources, (std::vector<std::int64_t>{0, 3, 1}));
}

TEST(KeptRows, AreDescribedWithWhatStartsAnew) {
  const auto told = [](const std::vector<std::string>& texts, std::int64_t rows) {
    const std::vector<Label> labels = vocabulary_of(texts);
    return describe_rows(pair_rows(labels, rows, vocabulary_of({"a", "b"})), labels);
  };
  EXPECT_EQ(told({"b", "a"}, 3), "keeps its 3 rows, whose labels the checkpoint has too");
  EXPECT_EQ(told({"b", "x"}, 3),
            "keeps 2 of 3 rows, whose labels the checkpoint has too; 1 starts anew: 'x'");
  EXPECT_EQ(told({"1", "a", "2", "3", "4", "5"}, 7),
            "keeps 2 of 7 rows, whose labels the checkpoint has too; 5 start anew: '1', '2', '3', "
            "'4', '5'");
  EXPECT_EQ(told({"1", "a", "2", "3", "4", "5", "6", "7"}, 12),
            "keeps 2 of 12 rows, whose labels the checkpoint has too; 10 start anew: '1', '2', "
            "'3', '4', '5', 2 others, 3 beyond the labels");
}

TEST(KeptRows, ListsOfLabelsNameTheFirst) {
  EXPECT_EQ(list_labels(vocabulary_of({"a", " "})), "the blank, 'a', ' '");
  EXPECT_EQ(list_labels(vocabulary_of({"1", "2", "3", "4", "5"})),
            "the blank, '1', '2', '3', '4', 1 other");
  EXPECT_EQ(list_labels({}), "");
}

// Rows of 3 elements; every cut of the parameter into two parts reads the same.
TEST(KeptRows, AreReadWhereverAPartIsCut) {
  constexpr std::int64_t kSize = 3;
  const KeptRows rows{{7, kAnew, 2, 3, 4, 0, kAnew, kAnew, 8}};
  const auto elements = static_cast<std::size_t>(rows.rows() * kSize);
  std::vector<float> expected(elements, -1);
  for (std::size_t i = 0; i < elements; ++i)
    if (const std::int64_t source = rows.sources[i / kSize]; source != kAnew)
      expected[i] = static_cast<float>(source * kSize + static_cast<std::int64_t>(i % kSize));
  const auto read = [](std::int64_t begin, std::span<float> out) {
    for (float& value : out) value = static_cast<float>(begin++);
  };
  for (std::size_t cut = 0; cut <= elements; ++cut) {
    std::vector<float> values(elements, -1);
    const std::span all(values);
    read_kept_rows(rows, {kSize, 0, all.first(cut)}, read);
    read_kept_rows(rows, {kSize, static_cast<std::int64_t>(cut), all.subspan(cut)}, read);
    EXPECT_EQ(values, expected) << cut;
  }
}

TEST(KeptRows, NothingElseIsRead) {
  std::vector<std::pair<std::int64_t, std::size_t>> reads;
  std::vector<float> values(25);
  read_kept_rows(
      {{7, kAnew, 2, 3, 1}}, {5, 0, values},
      [&](std::int64_t begin, std::span<float> out) { reads.emplace_back(begin, out.size()); });
  EXPECT_EQ(reads, (std::vector<std::pair<std::int64_t, std::size_t>>{{35, 5}, {10, 10}, {5, 5}}));
}

}  // namespace
}  // namespace penstock::runtime
