#pragma once

#include <string>

namespace penstock::runtime {

/// A segment of a recording in NIST's format STM.
struct StmLine {
  std::string recording;  // name without extension
  std::string channel;
  double begin = 0, end = 0;  // seconds
  std::string text;
};

/// Parses "RECORDING CHANNEL SPEAKER BEGIN END [<LABELS>] TEXT". Throws DataError if it is none, or
/// its times are in no order, or its text has alternatives. The text is cleaned as by Lhotse's
/// normalize_text_tedlium(text, "kaldi"), and loses all marks in brackets.
[[nodiscard]] StmLine parse_stm(const std::string& line);

}  // namespace penstock::runtime
