#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// The letters of a cell, which reads `[stage][letters][micro-batch]`.
enum class CellKind { F, B, I, W, BW, SEND_F, RECV_F, SEND_B, RECV_B };

/// A Cell is one action as the file writes it. The whole file decides if B is one gradient or both.
struct Cell {
  int chunk = 0;  // the file's "stage"
  CellKind kind = CellKind::F;
  int micro_batch = 0;
  int column = 0;  // column in its row, from 1
};

/// Parses one cell: "3F12", "" (idle time, no action), or "(0F7;7B3)OVERLAP_F_B" (its parts in
/// order). Throws ConfigError for anything else.
std::vector<Cell> parse_cell(std::string_view text);

/// Formats an action that computes, such as "3F12". The letters are F, B (input gradient), W and BW
/// (both gradients).
std::string cell_text(const Action& action);

/// Returns the actions of each row of a file, one row per rank. Throws ConfigError, which names
/// `name`, row and column, if a cell cannot be read.
std::vector<std::vector<Cell>> parse_rows(std::string_view text, const std::string& name);

}  // namespace penstock::partition
